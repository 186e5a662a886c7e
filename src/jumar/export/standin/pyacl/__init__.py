"""The part of pyACL that prepares pictures, loads and runs offline models, over the stand-in.

Names, order of arguments and results: the vendor's pyACL reference (CANN 8.0). Device memory is host memory. What is
not here is missing, not a silent success.
"""

from __future__ import annotations

import os
from typing import NoReturn

from jumar.export.standin.pyacl import media, util
from jumar.export.standin.pyacl import model as mdl
from jumar.export.standin.pyacl import runtime as rt
from jumar.export.standin.pyacl.state import (
    INVALID_PARAM,
    LOG,
    OK,
    REPEAT_FINALIZE,
    REPEAT_INITIALIZE,
    STATE,
    Buffer,
    fail,
    handle,
)
from jumar.runtime import variables

__all__ = [
    "app_log", "create_data_buffer", "destroy_data_buffer", "finalize", "get_data_buffer_addr", "get_data_buffer_size",
    "get_data_buffer_size_v2", "get_recent_err_msg", "get_soc_name", "get_version", "init", "mdl", "media", "rt",
    "update_data_buffer", "util",
]  # fmt: skip


def init(config: str | None = None) -> int:
    if STATE.ready:
        return fail(REPEAT_INITIALIZE, "acl.init was called before")
    if config and not os.path.isfile(config):
        return fail(INVALID_PARAM, f"no such file: `{config}`")
    STATE.ready = True
    return OK


def finalize() -> int:
    if not STATE.ready:
        return fail(REPEAT_FINALIZE, "acl.finalize was called before, or acl.init never")
    STATE.ready = False
    return OK


def get_soc_name() -> str:
    return variables.SOC.read()


def get_version() -> tuple[int, int, int, int]:
    return 1, 0, 0, OK


def get_recent_err_msg() -> str:
    """What the last call that failed had to say."""
    return STATE.message


def create_data_buffer(pointer: int, size: int) -> int:
    return STATE.add(Buffer(pointer, size))


def destroy_data_buffer(buffer: int) -> int:
    return STATE.drop(buffer, Buffer)


def get_data_buffer_addr(buffer: int) -> int:
    found = handle(buffer, Buffer)
    return found.pointer if found else 0


def get_data_buffer_size(buffer: int) -> int:
    found = handle(buffer, Buffer)
    return found.size if found else 0


get_data_buffer_size_v2 = get_data_buffer_size


def update_data_buffer(buffer: int, pointer: int, size: int) -> int:
    found = handle(buffer, Buffer)
    if found is None:
        return INVALID_PARAM
    found.pointer, found.size = pointer, size
    return OK


def app_log(level: int, message: str) -> int:
    """Into the log of the program; the real one writes to `~/ascend/log`."""
    LOG.log({0: 10, 1: 20, 2: 30, 3: 40}.get(level, 20), "%s", message)
    return OK


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"acl.{name} is not in the stand-in of pyACL: it loads and runs offline models only")
