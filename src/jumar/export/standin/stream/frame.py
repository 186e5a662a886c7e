"""What moves through a pipeline: the buffer, and what each element wrote under its name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jumar.core.errors import UserError
from jumar.export.standin.stream import messages

FORMATS = {"NV12": 1, "RGB": 12, "BGR": 13}
"""Numbers of MXPI_PIXEL_FORMAT."""


@dataclass(frozen=True)
class Picture:
    """Pixels as RGB, and the form in which the element before hands them on."""

    pixels: Any
    form: str

    @property
    def size(self) -> tuple[int, int]:
        return self.pixels.shape[1], self.pixels.shape[0]

    def data(self) -> bytes:
        """The bytes in the picture's own form."""
        return bytes(in_form(self.pixels, self.form).tobytes())


@dataclass
class Frame:
    number: int
    buffer: bytes = b""
    boxes: list[tuple[float, float, float, float]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    pictures: dict[str, list[Picture]] = field(default_factory=dict)

    def put_pictures(self, name: str, pictures: list[Picture], source: str = "") -> None:
        """Keep pictures under a name, and write the message that others may ask for."""
        self.pictures[name] = pictures
        listing = messages.make("MxpiVisionList")
        for number, picture in enumerate(pictures):
            vision = listing.visionVec.add()
            if source:
                vision.headerVec.add(dataSource=source, memberId=number)
            width, height = picture.size
            vision.visionInfo.format = FORMATS[picture.form]
            vision.visionInfo.width = vision.visionInfo.widthAligned = width
            vision.visionInfo.height = vision.visionInfo.heightAligned = height
            vision.visionData.dataStr = picture.data()
            vision.visionData.dataSize = len(vision.visionData.dataStr)
        self.metadata[name] = listing

    def pictures_of(self, name: str) -> list[Picture]:
        if name not in self.pictures:
            raise UserError(f"element `{name}` made no picture", "check `dataSource` in the pipeline")
        return self.pictures[name]


def in_form(pixels: Any, form: str) -> Any:
    """RGB pixels as BGR, RGB, or the planes of NV12 in the full range of JPEG (BT.601)."""
    import numpy

    if form == "RGB":
        return pixels
    if form == "BGR":
        return numpy.ascontiguousarray(pixels[..., ::-1])
    height, width = pixels.shape[0] // 2 * 2, pixels.shape[1] // 2 * 2
    red, green, blue = (pixels[:height, :width, channel].astype(numpy.float32) for channel in range(3))
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    chroma = numpy.stack([128 + 0.564 * (blue - luma), 128 + 0.713 * (red - luma)], axis=-1)
    chroma = chroma.reshape(height // 2, 2, width // 2, 2, 2).mean(axis=(1, 3))
    planes = numpy.concatenate([luma, chroma.reshape(height // 2, width)])
    return numpy.clip(numpy.rint(planes), 0, 255).astype(numpy.uint8)
