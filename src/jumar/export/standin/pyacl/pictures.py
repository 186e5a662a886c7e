"""Pictures in memory as DVPP lays them out: rows and planes padded to a stride, YUV420SP or RGB."""

from __future__ import annotations

import ctypes
import io
from dataclasses import dataclass, replace
from typing import Any

from jumar.core.errors import UserError

NV12, NV21, RGB, BGR = 1, 2, 12, 13
_BYTES = {0: 1.0, NV12: 1.5, NV21: 1.5, RGB: 3.0, BGR: 3.0}
_MOST = 8192
"""Columns or rows of a picture: the chips take no more."""


@dataclass
class Picture:
    """`acldvppPicDesc`; a stride of 0 is the width or height itself."""

    data: int = 0
    size: int = 0
    format: int = NV12
    width: int = 0
    height: int = 0
    width_stride: int = 0
    height_stride: int = 0
    ret_code: int = 0

    @property
    def both(self) -> tuple[int, int]:
        return self.width, self.height

    def padded(self) -> Picture:
        """The picture with its padding."""
        return replace(self, width=self.width_stride or self.width, height=self.height_stride or self.height)


def per_pixel(form: int) -> float:
    if form not in _BYTES:
        raise UserError(f"the stand-in has no pixel format {form}: 0, 1, 2, 12 or 13")
    return _BYTES[form]


def decoded(data: bytes) -> Any:
    """A JPEG or PNG as a picture of Pillow."""
    image_module = _pillow()
    try:
        image = image_module.open(io.BytesIO(data))
        if max(image.size) > _MOST:
            raise UserError(f"the picture has {image.width}x{image.height}, at most {_MOST} each")
        return image.convert("RGB")
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"the {len(data)} bytes are not a picture that can be decoded: {error}") from error


def encoded(image: Any, level: int) -> bytes:
    held = io.BytesIO()
    image.save(held, "JPEG", quality=max(1, min(level, 100)))
    return held.getvalue()


def read(picture: Picture) -> Any:
    """The pixels at the pointer, as RGB."""
    import numpy

    image_module = _pillow()
    plane, columns, rows = _plane(picture)
    height, width = picture.height, picture.width
    if picture.format in (RGB, BGR):
        pixels = plane.reshape(rows, columns, 3)[:height, :width]
        return image_module.fromarray(numpy.ascontiguousarray(pixels[..., ::-1] if picture.format == BGR else pixels))
    luma = plane[: rows * columns].reshape(rows, columns)[:height, :width]
    if picture.format == 0:
        return image_module.fromarray(luma.copy()).convert("RGB")
    pairs = plane[rows * columns :].reshape(rows // 2, columns // 2, 2)
    pairs = pairs[..., ::-1] if picture.format == NV21 else pairs
    chroma = pairs.repeat(2, axis=0).repeat(2, axis=1)[:height, :width]
    return image_module.fromarray(numpy.dstack([luma, chroma]), "YCbCr").convert("RGB")


def write(picture: Picture, image: Any) -> None:
    """The pixels of an RGB picture of the same size, to the pointer; padding is left alone."""
    import numpy

    plane, columns, rows = _plane(picture)
    height, width = picture.height, picture.width
    if picture.format in (RGB, BGR):
        pixels = numpy.asarray(image)
        plane.reshape(rows, columns, 3)[:height, :width] = pixels[..., ::-1] if picture.format == BGR else pixels
        return
    values = numpy.asarray(image.convert("YCbCr"))
    plane[: rows * columns].reshape(rows, columns)[:height, :width] = values[..., 0]
    if picture.format == 0:
        return
    even = values[: height // 2 * 2, : width // 2 * 2, 1:].astype("uint16")
    means = even.reshape(height // 2, 2, width // 2, 2, 2).mean(axis=(1, 3)).round().astype("uint8")
    target = plane[rows * columns :].reshape(rows // 2, columns // 2, 2)
    target[: height // 2, : width // 2] = means[..., ::-1] if picture.format == NV21 else means


def _plane(picture: Picture) -> tuple[Any, int, int]:
    import numpy

    columns, rows = picture.width_stride or picture.width, picture.height_stride or picture.height
    if not picture.data or picture.width < 2 or picture.height < 2:
        raise UserError(f"the picture has no memory or no size: {picture.width}x{picture.height}")
    if columns < picture.width or rows < picture.height or max(columns, rows) > 2 * _MOST:
        raise UserError(f"strides {columns}x{rows} do not fit {picture.width}x{picture.height}")
    if picture.format in (NV12, NV21) and (columns % 2 or rows % 2):
        raise UserError(f"YUV420SP needs even strides, not {columns}x{rows}")
    wanted = int(columns * rows * per_pixel(picture.format))
    if picture.size and picture.size < wanted:
        raise UserError(f"the picture has {picture.size} bytes, {columns}x{rows} takes {wanted}")
    block = (ctypes.c_uint8 * wanted).from_address(picture.data)
    return numpy.frombuffer(block, dtype="uint8"), columns, rows


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise UserError("pictures need Pillow", "pip install pillow") from error
    return Image
