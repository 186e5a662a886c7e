"""`mxpi_tensorinfer` and `mxpi_modelinfer`: run an `.om` stand-in on pictures or tensors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumar.core.errors import UserError
from jumar.export.standin import program as programs
from jumar.export.standin.pyacl.describe import TYPES
from jumar.export.standin.stream import messages
from jumar.export.standin.stream.elements import postprocess
from jumar.export.standin.stream.frame import Frame, Picture, in_form
from jumar.export.standin.stream.pipeline import Element

FACTORIES = ("mxpi_modelinfer", "mxpi_tensorinfer")
_NUMPY = {number: name for name, number in TYPES.items()}
_UNSET = 0
"""A message without a type looks like float32; many programs set none, and a device takes the bytes as they are."""


@dataclass
class Ready:
    program: programs.Program
    after: postprocess.PostProcess | None

    def picture_size(self) -> tuple[int, int]:
        """Width and height of the first input that is a picture."""
        for index, port in enumerate(self.program.inputs):
            if len(port.shape) == 4:
                shape = self.program.shapes[port.name]
                height, width = shape[2:] if shape[1] in (1, 3, 4) or index in self.program.steps else shape[1:3]
                if isinstance(height, int) and isinstance(width, int) and height > 0 and width > 0:
                    return width, height
        raise UserError("the model has no picture of a fixed size as input", "set resizeWidth and resizeHeight")


def prepare(element: Element) -> None:
    path = element.prop("modelPath")
    if not path:
        raise UserError(f"`{element.name}` has no modelPath")
    after = postprocess.load(element) if element.factory == "mxpi_modelinfer" and _has_post(element) else None
    element.state = Ready(programs.load(Path(path)), after)


def run(element: Element, frame: Frame) -> None:
    ready: Ready = element.state
    source = element.sources()[0]
    listing = messages.make("MxpiTensorPackageList")
    batches: list[list[Any]] = []
    if source in frame.pictures:
        pictures = frame.pictures_of(source)
        batches = [[_from_picture(ready.program, picture)] for picture in pictures]
    else:
        batches = [_from_tensors(element, frame, ready.program)]
    results = []
    for number, feeds in enumerate(batches):
        values = ready.program.execute(feeds)
        results.append(values)
        package = listing.tensorPackageVec.add()
        package.headerVec.add(dataSource=source, memberId=number)
        for value in values:
            tensor = package.tensorVec.add()
            tensor.tensorShape.extend(value.shape)
            tensor.tensorDataType = TYPES[str(value.dtype)]
            tensor.dataStr = value.tobytes()
            tensor.tensorDataSize = len(tensor.dataStr)
    frame.metadata[element.name] = listing if ready.after is None else ready.after.process(results, source)


def _has_post(element: Element) -> bool:
    return bool(element.prop("postProcessLibPath") or element.prop("className"))


def _from_picture(program: programs.Program, picture: Picture) -> Any:
    """The first input of a model from a picture, in the form that it was decoded to."""
    import numpy

    port = program.inputs[0]
    if 0 in program.steps:
        wanted = {"YUV420SP_U8": "NV12"}.get(str(program.steps[0].values["input_format"]))
        if (wanted == "NV12") != (picture.form == "NV12"):
            raise UserError(f"the AIPP of the model takes {program.steps[0].values['input_format']}, the picture is"
                            f" {picture.form}", "choose `cvProcessor` of the decoder or another AIPP file")  # fmt: skip
        data = in_form(picture.pixels, picture.form)
        return data.reshape(1, *data.shape[:2], -1)
    if picture.form == "NV12":
        raise UserError(
            f"the model takes {port.dtype} {list(port.shape)} without AIPP, the picture is YUV420",
            'set `"cvProcessor": "opencv"` on the decoder, or convert the model with an AIPP file',
        )
    pixels = in_form(picture.pixels, picture.form)[None]
    if len(port.shape) == 4 and port.shape[1] in (1, 3) and port.shape[3] not in (1, 3):
        pixels = pixels.transpose(0, 3, 1, 2)
    return numpy.ascontiguousarray(pixels).astype(port.dtype)


def _from_tensors(element: Element, frame: Frame, program: programs.Program) -> list[Any]:
    import numpy

    found: list[Any] = []
    for source in element.sources():
        listing = frame.metadata.get(source)
        if listing is None or listing.DESCRIPTOR.name != "MxpiTensorPackageList":
            raise UserError(f"`{element.name}` got neither picture nor tensor from `{source}`")
        for package in listing.tensorPackageVec:
            for tensor in package.tensorVec:
                if tensor.tensorDataType not in _NUMPY:
                    raise UserError(f"a tensor of `{source}` has the unknown type {tensor.tensorDataType}")
                kind = _NUMPY[tensor.tensorDataType]
                if tensor.tensorDataType == _UNSET and len(found) < len(program.inputs):
                    kind = program.inputs[len(found)].dtype
                try:
                    values = numpy.frombuffer(tensor.dataStr, dtype=kind)
                    found.append(values.reshape(tuple(tensor.tensorShape)))
                except ValueError as error:
                    raise UserError(
                        f"a tensor of `{source}` does not fill its shape {list(tensor.tensorShape)}"
                    ) from error
    return found
