"""`acl.media`: the picture part of DVPP (JPEG in and out, resize, crop, crop and paste) over Pillow; no video.

Names and order of arguments: the vendor's pyACL reference (CANN 8.0, media data processing V1) and its samples. A chip
scales a little differently than Pillow: a few grey levels.
"""

from __future__ import annotations

import ctypes
from typing import Any, NoReturn

from jumar.core.errors import UserError
from jumar.export.standin.pyacl import pictures
from jumar.export.standin.pyacl.descs import Channel, Config, Region
from jumar.export.standin.pyacl.descs import (
    dvpp_create_channel as dvpp_create_channel,
)
from jumar.export.standin.pyacl.descs import (
    dvpp_create_channel_desc as dvpp_create_channel_desc,
)
from jumar.export.standin.pyacl.descs import (
    dvpp_create_jpege_config as dvpp_create_jpege_config,
)
from jumar.export.standin.pyacl.descs import (
    dvpp_create_pic_desc as dvpp_create_pic_desc,
)
from jumar.export.standin.pyacl.descs import (
    dvpp_create_resize_config as dvpp_create_resize_config,
)
from jumar.export.standin.pyacl.descs import (
    dvpp_create_roi_config as dvpp_create_roi_config,
)
from jumar.export.standin.pyacl.descs import (
    dvpp_destroy_channel as dvpp_destroy_channel,
)
from jumar.export.standin.pyacl.descs import (
    dvpp_destroy_channel_desc as dvpp_destroy_channel_desc,
)
from jumar.export.standin.pyacl.descs import (
    dvpp_destroy_jpege_config as dvpp_destroy_jpege_config,
)
from jumar.export.standin.pyacl.descs import (
    dvpp_destroy_pic_desc as dvpp_destroy_pic_desc,
)
from jumar.export.standin.pyacl.descs import (
    dvpp_destroy_resize_config as dvpp_destroy_resize_config,
)
from jumar.export.standin.pyacl.descs import (
    dvpp_destroy_roi_config as dvpp_destroy_roi_config,
)
from jumar.export.standin.pyacl.descs import (
    dvpp_free as dvpp_free,
)
from jumar.export.standin.pyacl.descs import (
    dvpp_malloc as dvpp_malloc,
)
from jumar.export.standin.pyacl.descs import (
    dvpp_set_jpege_config_level as dvpp_set_jpege_config_level,
)
from jumar.export.standin.pyacl.descs import (
    dvpp_set_resize_config_interpolation as dvpp_set_resize_config_interpolation,
)
from jumar.export.standin.pyacl.pictures import Picture
from jumar.export.standin.pyacl.state import EXECUTION_FAILED, INVALID_PARAM, OK, STATE, fail, handle

_FIELDS = ("data", "size", "format", "width", "height", "width_stride", "height_stride", "ret_code")


def dvpp_jpeg_get_image_info(pointer: int, size: int) -> tuple[int, int, int, int]:
    """Width, height, components."""
    try:
        image = pictures.decoded(ctypes.string_at(pointer, size))
    except UserError as error:
        return 0, 0, 0, fail(INVALID_PARAM, error.message)
    return image.width, image.height, len(image.getbands()), OK


def dvpp_jpeg_predict_dec_size(pointer: int, size: int, form: int) -> tuple[int, int]:
    """With the chip's alignment: 128 columns, 16 rows."""
    width, height, _, code = dvpp_jpeg_get_image_info(pointer, size)
    if code != OK:
        return 0, code
    try:
        return int(-(-width // 128) * 128 * -(-height // 16) * 16 * pictures.per_pixel(form)), OK
    except UserError as error:
        return 0, fail(INVALID_PARAM, error.message)


def dvpp_jpeg_predict_enc_size(picture: int, config: int) -> tuple[int, int]:
    found = handle(picture, Picture)
    return (found.width * found.height * 3 + 4096, OK) if found else (0, INVALID_PARAM)


def dvpp_jpeg_decode_async(channel: int, pointer: int, size: int, out: int, stream: int) -> int:
    def decode(target: Picture) -> None:
        image = pictures.decoded(ctypes.string_at(pointer, size))
        target.width, target.height = target.width or image.width, target.height or image.height
        pictures.write(target, image.resize((target.width, target.height)) if image.size != target.both else image)

    return _carry_out(channel, out, decode)


def dvpp_jpeg_encode_async(channel: int, picture: int, out: int, size: int, config: int, stream: int) -> int:
    """Into the memory at `out`; `size` points to its length and then holds that of the picture."""
    settings = handle(config, Config)

    def encode(source: Picture) -> None:
        data = pictures.encoded(pictures.read(source), settings.level if settings else 100)
        room = ctypes.c_uint32.from_address(size)
        if room.value < len(data):
            raise UserError(f"the JPEG has {len(data)} bytes, its buffer {room.value}")
        ctypes.memmove(out, data, len(data))
        room.value = len(data)

    return _carry_out(channel, picture, encode)


def dvpp_vpc_resize_async(channel: int, source: int, target: int, config: int, stream: int) -> int:
    settings = handle(config, Config)
    given = handle(source, Picture)

    def resize(out: Picture) -> None:
        assert given is not None
        pictures.write(out, _scaled(pictures.read(given), out.both, settings))

    return _carry_out(channel, target, resize) if given else INVALID_PARAM


def dvpp_vpc_crop_async(channel: int, source: int, target: int, region: int, stream: int) -> int:
    return dvpp_vpc_crop_resize_async(channel, source, target, region, 0, stream)


def dvpp_vpc_crop_resize_async(channel: int, source: int, target: int, region: int, config: int, stream: int) -> int:
    given, part = handle(source, Picture), handle(region, Region)

    def crop(out: Picture) -> None:
        assert given is not None and part is not None
        pictures.write(out, _scaled(_cut(given, part), out.both, None))

    return _carry_out(channel, target, crop) if given and part else INVALID_PARAM


def dvpp_vpc_crop_and_paste_async(channel: int, source: int, target: int, region: int, place: int, stream: int) -> int:
    """What lies around the place keeps what the memory of the target holds."""
    given, part, where = handle(source, Picture), handle(region, Region), handle(place, Region)

    def paste(out: Picture) -> None:
        assert given is not None and part is not None and where is not None
        left, top, right, bottom = where.box
        if right > out.width_stride or bottom > out.height_stride or left < 0 or top < 0:
            raise UserError(f"the place {where.box} is outside {out.width_stride}x{out.height_stride}")
        whole = pictures.read(out.padded())
        whole.paste(_scaled(_cut(given, part), (right - left, bottom - top), None), (left, top))
        pictures.write(out.padded(), whole)

    return _carry_out(channel, target, paste) if given and part and where else INVALID_PARAM


def dvpp_vpc_convert_color_async(channel: int, source: int, target: int, stream: int) -> int:
    return dvpp_vpc_resize_async(channel, source, target, STATE.add(Config()), stream)


def _cut(source: Picture, part: Region) -> Any:
    left, top, right, bottom = part.box
    if not (0 <= left < right <= source.width and 0 <= top < bottom <= source.height):
        raise UserError(f"the region {part.box} is outside {source.width}x{source.height}")
    return pictures.read(source).crop(part.box)


def _scaled(image: Any, size: tuple[int, int], config: Config | None) -> Any:
    from PIL import Image

    kind = Image.Resampling.NEAREST if config and config.interpolation == 2 else Image.Resampling.BILINEAR
    return image if image.size == size else image.resize(size, kind)


def _carry_out(channel: int, picture: int, work: Any) -> int:
    found, target = handle(channel, Channel), handle(picture, Picture)
    if found is None or target is None:
        return INVALID_PARAM
    if not found.open:
        return fail(INVALID_PARAM, "call acl.media.dvpp_create_channel first")
    try:
        work(target)
    except UserError as error:
        target.ret_code = EXECUTION_FAILED
        return fail(INVALID_PARAM, error.message)
    target.ret_code = OK
    return OK


def _setter(name: str) -> Any:
    def put(picture: int, value: int) -> int:
        found = handle(picture, Picture)
        if found is None:
            return INVALID_PARAM
        setattr(found, name, value)
        return OK

    return put


def _getter(name: str) -> Any:
    def get(picture: int) -> int:
        found = handle(picture, Picture)
        return int(getattr(found, name)) if found else 0

    return get


_OF_A_PICTURE = {f"dvpp_{kind}_pic_desc_{name}": (_setter if kind == "set" else _getter)(name)
                 for kind in ("set", "get") for name in _FIELDS}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _OF_A_PICTURE:
        return _OF_A_PICTURE[name]
    return _missing(name)


def _missing(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"acl.media.{name} is not in the stand-in of pyACL: it has pictures, no video")
