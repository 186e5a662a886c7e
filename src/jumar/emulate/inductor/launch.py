"""One call of a compiled kernel: after what its stream still has to do, and as a step of the graph that captures it."""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from jumar.emulate import env
from jumar.runtime import standins

Run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t)
Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def launch(kernel: Callable[..., None], written: tuple[int, ...], *arguments: Any) -> None:
    """Called by the code that inductor writes; `written` are the places of the arguments that the kernel writes to."""
    streams = _streams()
    if streams.queued.value:
        streams.finish(_current())
    if streams.captured.value and streams.is_captured(_current()):
        storages = (arguments[place].untyped_storage() for place in written)
        memory = [(storage.data_ptr(), storage.nbytes()) for storage in storages]
        name = getattr(kernel, "__name__", "compiled kernel")
        add_step(name, memory, kernel, *(_unowned(one) for one in arguments))
    kernel(*arguments)


def wait() -> bool:
    """Let the current stream do what it still has to; whether it is captured by a graph."""
    streams = _streams()
    if streams.queued.value:
        streams.finish(_current())
    return bool(streams.captured.value and streams.is_captured(_current()))


class _Streams(NamedTuple):
    """The stand-in runtime's side (native/acl/queue.cpp, capture.cpp)."""

    queued: ctypes.c_int
    captured: ctypes.c_int
    library: ctypes.CDLL

    def finish(self, stream: int) -> None:
        if self.library.jumar_finish_stream(ctypes.c_void_p(stream)):
            self.library.aclGetRecentErrMsg.restype = ctypes.c_char_p
            raise RuntimeError(self.library.aclGetRecentErrMsg().decode(errors="replace"))

    def is_captured(self, stream: int) -> bool:
        return bool(self.library.jumar_is_captured(ctypes.c_void_p(stream)))


@functools.cache
def _streams() -> _Streams:
    library = ctypes.CDLL(str(env.library_dir() / standins.LIBRARY))
    for counter in ("jumar_queued_work", "jumar_captured_streams"):
        getattr(library, counter).restype = ctypes.c_void_p
    queued, captured = library.jumar_queued_work(), library.jumar_captured_streams()
    return _Streams(ctypes.c_int.from_address(queued), ctypes.c_int.from_address(captured), library)


def _current() -> int:
    return int(torch.npu.current_stream().npu_stream)


_STEPS: dict[int, tuple[Callable[..., None], tuple[Any, ...]]] = {}
"""By number: a graph holds the number, and gives it back when it is destroyed."""
_NUMBERS = itertools.count(1)


def add_step(name: str, memory: list[tuple[int, int]], kernel: Callable[..., None], *arguments: Any) -> None:
    """A step of the graph that captures the current stream; `memory` is what the kernel may write to, with its sizes.

    As on a device, a step knows addresses only: the graph's pool or the program owns the memory.
    """
    library, stream = _streams().library, ctypes.c_void_p(_current())
    for address, size in memory:
        library.jumar_keep_contents(stream, ctypes.c_void_p(address), ctypes.c_size_t(size))
    number = next(_NUMBERS)
    _STEPS[number] = (kernel, arguments)
    library.jumar_record(stream, name.encode(), _run, _release, ctypes.c_void_p(number))


def _unowned(given: Any) -> Any:
    """A tensor at the same address that does not keep the memory alive; kernels read nothing but the address."""
    if not isinstance(given, torch.Tensor) or given.device.type == "cpu" or given.numel() == 0:
        return given
    memory = (ctypes.c_char * 1).from_address(given.data_ptr())
    return torch.frombuffer(memory, dtype=torch.uint8)


def _run_step(number: int, reason: Any, room: int) -> int:
    try:
        kernel, arguments = _STEPS[number]
        kernel(*arguments)
    except Exception as error:  # nothing may travel through the C caller
        text = str(error).encode()[: room - 1] + b"\0"
        ctypes.memmove(reason, text, len(text))
        return 1
    return 0


def _forget_step(number: int) -> None:
    _STEPS.pop(number, None)


_run, _release = Run(_run_step), Release(_forget_step)
