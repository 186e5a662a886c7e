"""MD5 of parts of a file, sixteen at once where the package was built with native/md5/md5.cpp.

The parts of a large file are independent of each other; a core computes sixteen sums together in the time of three.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jumar.cloud import disk
from jumar.core.compat import zip
from jumar.core.errors import UserError

LIBRARY = Path(__file__).parent / "lib" / "libjumar_md5.so"
LANES = 16
FEWEST = 4
"""Fewer parts than this are faster alone."""


def group() -> int:
    """How many parts to ask for at a time."""
    return LANES if _native() is not None else 1


def digests(path: str, parts: Sequence[tuple[int, int]]) -> list[str]:
    """The sum of each part of a file, by start and size."""
    found: dict[int, str] = {}
    native = _native()
    if native is not None:
        whole = max((size for _, size in parts), default=0)
        alike = [at for at, (_, size) in enumerate(parts) if size == whole]
        for begin in range(0, len(alike), LANES):
            some = alike[begin : begin + LANES]
            if len(some) >= FEWEST:
                found.update(zip(some, _together(native, path, [parts[at][0] for at in some], whole), strict=True))
    return [found[at] if at in found else disk.md5_of(path, *part) for at, part in enumerate(parts)]


def _together(native: Any, path: str, starts: list[int], size: int) -> list[str]:
    result = ctypes.create_string_buffer(16 * len(starts))
    handle = os.open(path, os.O_RDONLY)
    try:
        if native.jumar_md5_parts(handle, (ctypes.c_uint64 * len(starts))(*starts), len(starts), size, result):
            raise UserError(f"`{path}` became shorter while it was read", "send it again when no program writes to it")
    finally:
        os.close(handle)
    return [result.raw[16 * lane : 16 * lane + 16].hex() for lane in range(len(starts))]


@functools.cache
def _native() -> Any:
    try:
        library = ctypes.CDLL(str(LIBRARY))
        parts = library.jumar_md5_parts
    except (OSError, AttributeError):
        return None
    parts.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_uint64), ctypes.c_int, ctypes.c_uint64, ctypes.c_char_p]
    return library if library.jumar_md5_most() == LANES else None
