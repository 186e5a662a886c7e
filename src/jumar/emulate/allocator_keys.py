"""Lets torch_npu load beside a CUDA build of torch, as the public index has it for x86-64.

Since torch 2.13 both register names of allocator settings in one set (`c10/core/AllocatorConfig.h`), and torch ends the
process at a name that is there already. No emulated machine has a GPU: the names of CUDA go before torch_npu loads.
"""

from __future__ import annotations

import ctypes
import functools
from importlib.machinery import PathFinder
from pathlib import Path

from jumar.runtime import standins

_SET = "_ZN3c1016CachingAllocator26AcceleratorAllocatorConfig14getMutableKeysB5cxx11Ev"
"""`AcceleratorAllocatorConfig::getMutableKeys()`; older torch has no such function."""


def keep() -> None:
    """Before torch loads: remember the names that are its own."""
    if keys := _keys():
        _library().jumar_keep_keys(keys)


def restore() -> None:
    """Before torch_npu loads: leave no others."""
    if keys := _keys():
        _library().jumar_restore_keys(keys)


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(standins.LIBRARY)  # loaded already, under its own name


@functools.cache
def _keys() -> ctypes.c_void_p | None:
    """Torch's set of names, if its build is one for CUDA."""
    folder = _libraries()
    if folder is None or not (folder / "libc10_cuda.so").exists():
        return None
    function = getattr(ctypes.CDLL(str(folder / "libc10.so")), _SET, None)
    if function is None:
        return None
    function.restype = ctypes.c_void_p
    return ctypes.c_void_p(function())


def _libraries() -> Path | None:
    spec = PathFinder.find_spec("torch")
    return Path(spec.origin).parent / "lib" if spec and spec.origin else None
