"""`mxpi_imageresize`: to a size, or to that of the model behind it; stretched, or fitted with its sides kept."""

from __future__ import annotations

from typing import Any

from jumar.core.errors import UserError
from jumar.export.standin.stream.elements.imagedecoder import resized
from jumar.export.standin.stream.frame import Frame, Picture
from jumar.export.standin.stream.pipeline import Element

FACTORIES = ("mxpi_imageresize",)
STRETCH, FIT = "Resizer_Stretch", "Resizer_KeepAspectRatio_Fit"


def run(element: Element, frame: Frame) -> None:
    source = element.sources()[0]
    width, height = _wanted(element)
    frame.put_pictures(
        element.name, [_resize(element, one, width, height) for one in frame.pictures_of(source)], source
    )


def _wanted(element: Element) -> tuple[int, int]:
    width, height = int(element.number("resizeWidth")), int(element.number("resizeHeight"))
    if width and height:
        return width, height
    behind = element.after
    while behind:
        if behind[0].factory in ("mxpi_tensorinfer", "mxpi_modelinfer"):
            found: tuple[int, int] = behind[0].state.picture_size()
            return found
        behind = behind[0].after
    raise UserError(f"`{element.name}` has no size", "set resizeWidth and resizeHeight")


def _resize(element: Element, picture: Picture, width: int, height: int) -> Picture:
    kind = element.prop("resizeType", STRETCH)
    if kind == FIT:
        before = picture.size
        scale = min(width / before[0], height / before[1])
        width, height = max(1, round(before[0] * scale)), max(1, round(before[1] * scale))
    elif kind != STRETCH:
        raise UserError(f"the stand-in has no `{kind}` (`{element.name}`)", f"{STRETCH} or {FIT}")
    pixels = resized(picture.pixels, width, height)
    if kind == FIT and element.prop("paddingType") == "Padding_RightDown":
        pixels = _padded(element, pixels)
    return Picture(pixels, picture.form)


def _padded(element: Element, pixels: Any) -> Any:
    import numpy

    width, height = int(element.number("paddingWidth")), int(element.number("paddingHeight"))
    colour = [element.number(f"paddingColor{channel}") for channel in "RGB"]
    board: Any = numpy.empty((height, width, 3), numpy.uint8)
    board[:] = numpy.array(colour, numpy.uint8)
    rows, columns = pixels.shape[:2]
    board[:rows, :columns] = pixels
    return board
