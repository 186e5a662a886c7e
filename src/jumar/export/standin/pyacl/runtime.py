"""`acl.rt`: devices, contexts, streams and memory; every call is finished when it returns."""

from __future__ import annotations

import ctypes
import errno
from typing import NoReturn

from jumar.export.standin.pyacl.state import (
    DEVICE_INVALID,
    INVALID_PARAM,
    MEMORY_ALLOCATION,
    OK,
    STATE,
    UNINITIALIZED,
    fail,
)
from jumar.export.standin.pyacl.streams import (
    create_event as create_event,
)
from jumar.export.standin.pyacl.streams import (
    create_stream as create_stream,
)
from jumar.export.standin.pyacl.streams import (
    destroy_event as destroy_event,
)
from jumar.export.standin.pyacl.streams import (
    destroy_stream as destroy_stream,
)
from jumar.export.standin.pyacl.streams import (
    event_elapsed_time as event_elapsed_time,
)
from jumar.export.standin.pyacl.streams import (
    launch_callback as launch_callback,
)
from jumar.export.standin.pyacl.streams import (
    process_report as process_report,
)
from jumar.export.standin.pyacl.streams import (
    record_event as record_event,
)
from jumar.export.standin.pyacl.streams import (
    stream_wait_event as stream_wait_event,
)
from jumar.export.standin.pyacl.streams import (
    subscribe_report as subscribe_report,
)
from jumar.export.standin.pyacl.streams import (
    synchronize_event as synchronize_event,
)
from jumar.export.standin.pyacl.streams import (
    synchronize_stream as synchronize_stream,
)
from jumar.export.standin.pyacl.streams import (
    synchronize_stream_with_timeout as synchronize_stream_with_timeout,
)
from jumar.export.standin.pyacl.streams import (
    unsubscribe_report as unsubscribe_report,
)
from jumar.runtime import variables
from jumar.tables.socs import socs

HOST = 1
"""The run mode of a program on a server with cards."""


class Context:
    pass


def set_device(device: int) -> int:
    if not STATE.ready:
        return fail(UNINITIALIZED, "call acl.init first")
    if not 0 <= device < get_device_count()[0]:
        return fail(DEVICE_INVALID, f"there is no device {device}")
    STATE.device = device
    return OK


def reset_device(device: int) -> int:
    return OK if 0 <= device < get_device_count()[0] else fail(DEVICE_INVALID, f"there is no device {device}")


def get_device() -> tuple[int, int]:
    return STATE.device, OK


def get_device_count() -> tuple[int, int]:
    return variables.CARDS.read() if variables.CARDS.text() else 1, OK


def get_run_mode() -> tuple[int, int]:
    return HOST, OK


def create_context(device: int) -> tuple[int, int]:
    code = set_device(device)
    return (STATE.add(Context()), OK) if code == OK else (0, code)


def destroy_context(context: int) -> int:
    return STATE.drop(context, Context)


def set_context(context: int) -> int:
    return OK if isinstance(STATE.handles.get(context), Context) else fail(INVALID_PARAM, f"{context} is no context")


def get_context() -> tuple[int, int]:
    found = next((number for number, value in STATE.handles.items() if isinstance(value, Context)), 0)
    return found, OK


def get_mem_info(kind: int) -> tuple[int, int, int]:
    """Free and all bytes of the emulated card, whose memory is that of the host."""
    whole = (variables.MEMORY.read() or int(socs()[variables.SOC.read()]["memory_mib"])) << 20
    return max(0, whole - sum(len(block) for block in STATE.memory.values())), whole, OK


def synchronize_device() -> int:
    return OK


def malloc(size: int, policy: int = 0) -> tuple[int, int]:
    if size <= 0:
        return 0, fail(INVALID_PARAM, f"{size} bytes cannot be allocated")
    try:
        block = ctypes.create_string_buffer(size)
    except (MemoryError, OverflowError, ValueError):
        return 0, fail(MEMORY_ALLOCATION, f"no memory for {size} bytes")
    pointer = ctypes.addressof(block)
    STATE.memory[pointer] = block
    return pointer, OK


def malloc_host(size: int) -> tuple[int, int]:
    return malloc(size)


def free(pointer: int) -> int:
    if STATE.memory.pop(pointer, None) is None:
        return fail(INVALID_PARAM, f"{pointer:#x} was not allocated, or it is free already")
    return OK


free_host = free


def memcpy(target: int, room: int, source: int, count: int, kind: int) -> int:
    if not target or not source or count > room or not 0 <= kind <= 3:
        return fail(INVALID_PARAM, f"memcpy of {count} bytes into {room}, kind {kind}")
    for pointer, name in ((target, "target"), (source, "source")):
        block = STATE.memory.get(pointer)
        if block is not None and count > len(block):
            return fail(INVALID_PARAM, f"memcpy of {count} bytes: the {name} has {len(block)}")
    if source not in STATE.memory and not _readable(source, count):
        return fail(INVALID_PARAM, f"memcpy of {count} bytes: the source ends before")
    ctypes.memmove(target, source, count)
    return OK


def _readable(pointer: int, count: int) -> bool:
    """Is the last byte memory of this process? A copy over the end of an array is an error number, not a crash."""
    try:
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            memory.seek(pointer + count - 1)
            return len(memory.read(1)) == 1
    except OverflowError:
        return False
    except OSError as error:
        return error.errno != errno.EIO


def memcpy_async(target: int, room: int, source: int, count: int, kind: int, stream: int) -> int:
    return memcpy(target, room, source, count, kind)


def memset(pointer: int, room: int, value: int, count: int) -> int:
    if not pointer or count > room:
        return fail(INVALID_PARAM, f"memset of {count} bytes in {room}")
    ctypes.memset(pointer, value, count)
    return OK


def memset_async(pointer: int, room: int, value: int, count: int, stream: int) -> int:
    return memset(pointer, room, value, count)


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"acl.rt.{name} is not in the stand-in of pyACL: it loads and runs offline models only")
