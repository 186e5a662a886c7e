"""`mxpi_imagedecoder`: a JPEG, PNG or BMP becomes a picture: NV12 as from the decoder of the chip, or BGR or RGB."""

from __future__ import annotations

import importlib
import io
from typing import Any

from jumar.core.errors import UserError
from jumar.export.model import first_line
from jumar.export.standin.stream.frame import Frame, Picture
from jumar.export.standin.stream.pipeline import Element

FACTORIES = ("mxpi_imagedecoder",)
LARGEST = 8192


def run(element: Element, frame: Frame) -> None:
    import numpy

    pixels = numpy.asarray(decoded(frame.buffer).convert("RGB"))
    opencv = "opencv" in (element.prop("cvProcessor"), element.prop("handleMethod"))
    form = "NV12"
    if opencv or element.prop("imageFormat") == "bmp":
        form = element.prop("outputDataFormat", "BGR").upper()
    elif element.prop("formatAdaptation") == "on":
        form = "BGR"
    if form not in ("NV12", "BGR", "RGB"):
        raise UserError(f"`outputDataFormat` of `{element.name}` is BGR or RGB, not `{form}`")
    frame.put_pictures(element.name, [Picture(pixels, form)])


def decoded(data: bytes) -> Any:
    """The picture of a file's bytes, by Pillow."""
    try:
        package = importlib.import_module("PIL.Image")
    except ImportError as error:
        raise UserError("pictures are decoded by Pillow, which is not installed", "pip install pillow") from error
    try:
        picture = package.open(io.BytesIO(data))
        if max(picture.size) > LARGEST:
            raise UserError(f"the picture has {picture.size[0]}x{picture.size[1]} pixels; the decoder takes {LARGEST}")
        picture.load()
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"the picture cannot be decoded: {first_line(error)}") from error
    return picture


def resized(pixels: Any, width: int, height: int) -> Any:
    """Bilinear, as the interpolation that the vendor calls the common one."""
    import numpy

    package = importlib.import_module("PIL.Image")
    return numpy.asarray(package.fromarray(pixels).resize((width, height), package.Resampling.BILINEAR))
