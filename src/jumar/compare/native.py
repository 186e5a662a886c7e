"""The numbers of a tensor in one pass over its memory (native/sketch/sketch.cpp), where it was built."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

LIBRARY = Path(__file__).parent / "lib" / "libjumar_sketch.so"
KINDS = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2, torch.float64: 3, torch.int64: 4, torch.int32: 5,
         torch.int16: 6, torch.int8: 7, torch.uint8: 8, torch.bool: 8}  # fmt: skip
_STAND_IN = "libjumar_ascend.so"

Sketch = Callable[[int, int, int, int, int], None]


@functools.cache
def sketch() -> Sketch | None:
    """A function of address, kind and count of the values, threads, and the address of the row to fill."""
    try:
        library: Any = ctypes.CDLL(str(LIBRARY))
    except OSError:
        return None
    found = library.jumar_sketch
    found.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64, ctypes.c_uint, ctypes.c_void_p]
    found.restype = None
    return found  # type: ignore[no-any-return]


def reads(device: torch.device) -> bool:
    """Whether the host can read the device's memory: its own, and that of an emulated NPU."""
    return device.type == "cpu" or (device.type == "npu" and is_emulated())


@functools.cache
def is_emulated() -> bool:
    """Whether the NPUs of this process are stand-ins: their library is loaded."""
    try:
        return _STAND_IN in Path("/proc/self/maps").read_text(errors="replace")
    except OSError:
        return False
