"""`acl.media`, the part that makes and fills descriptions: memory, channels, pictures, regions, settings."""

from __future__ import annotations

from dataclasses import dataclass

from jumar.export.standin.pyacl.pictures import Picture
from jumar.export.standin.pyacl.runtime import free, malloc
from jumar.export.standin.pyacl.state import INVALID_PARAM, OK, STATE, fail, handle


@dataclass
class Channel:
    open: bool = False


@dataclass
class Config:
    """Of a resize or of an encoder."""

    level: int = 100
    interpolation: int = 0


@dataclass
class Region:
    """The last column and row belong to it."""

    left: int
    right: int
    top: int
    bottom: int

    @property
    def box(self) -> tuple[int, int, int, int]:
        return self.left, self.top, self.right + 1, self.bottom + 1


def dvpp_malloc(size: int) -> tuple[int, int]:
    return malloc(size)


dvpp_free = free


def dvpp_create_channel_desc() -> int:
    return STATE.add(Channel())


def dvpp_destroy_channel_desc(channel: int) -> int:
    return STATE.drop(channel, Channel)


def dvpp_create_channel(channel: int) -> int:
    found = handle(channel, Channel)
    if found is None:
        return INVALID_PARAM
    found.open = True
    return OK


def dvpp_destroy_channel(channel: int) -> int:
    found = handle(channel, Channel)
    if found is None or not found.open:
        return fail(INVALID_PARAM, "the channel is not open")
    found.open = False
    return OK


def dvpp_create_pic_desc() -> int:
    return STATE.add(Picture())


def dvpp_destroy_pic_desc(picture: int) -> int:
    return STATE.drop(picture, Picture)


def dvpp_create_roi_config(left: int, right: int, top: int, bottom: int) -> int:
    return STATE.add(Region(left, right, top, bottom))


def dvpp_destroy_roi_config(region: int) -> int:
    return STATE.drop(region, Region)


def dvpp_create_resize_config() -> int:
    return STATE.add(Config())


def dvpp_destroy_resize_config(config: int) -> int:
    return STATE.drop(config, Config)


def dvpp_set_resize_config_interpolation(config: int, number: int) -> int:
    found = handle(config, Config)
    if found is None or number not in (0, 1, 2):
        return fail(INVALID_PARAM, f"interpolation {number}: the stand-in has 0, 1 (bilinear) and 2 (nearest)")
    found.interpolation = number
    return OK


dvpp_create_jpege_config = dvpp_create_resize_config
dvpp_destroy_jpege_config = dvpp_destroy_resize_config


def dvpp_set_jpege_config_level(config: int, level: int) -> int:
    found = handle(config, Config)
    if found is None or not 0 <= level <= 100:
        return fail(INVALID_PARAM, f"the level of an encoder is 0 to 100, not {level}")
    found.level = level or 100
    return OK
