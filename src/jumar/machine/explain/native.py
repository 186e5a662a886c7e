"""The search for many literals at once in C++ (native/scan/scan.cpp), where the package was built with it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

from jumar.core.compat import zip

LIBRARY = Path(__file__).parents[1] / "lib" / "libjumar_scan.so"
_ROOM = 1 << 14
"""Hits taken at a time."""


def searcher(literals: tuple[bytes, ...]) -> Callable[[bytes], list[tuple[int, int]]] | None:
    """A function that finds every literal in a text: the places of their starts in order, and which they are."""
    if not LIBRARY.exists():
        return None
    library = ctypes.CDLL(str(LIBRARY))
    library.jumar_scan_new.restype = ctypes.c_void_p
    library.jumar_scan_new.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint32), ctypes.c_uint32]
    library.jumar_scan_run.restype = ctypes.c_size_t
    library.jumar_scan_run.argtypes = [
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.POINTER(ctypes.c_uint64),
        ctypes.POINTER(ctypes.c_uint32),
        ctypes.c_size_t,
        ctypes.POINTER(ctypes.c_size_t),
    ]
    lengths = (ctypes.c_uint32 * len(literals))(*map(len, literals))
    machine = library.jumar_scan_new(b"".join(literals), lengths, len(literals))
    starts, numbers = (ctypes.c_uint64 * _ROOM)(), (ctypes.c_uint32 * _ROOM)()

    def search(text: bytes) -> list[tuple[int, int]]:
        hits: list[tuple[int, int]] = []
        done = ctypes.c_size_t(0)
        while done.value < len(text):
            count = library.jumar_scan_run(machine, text, len(text), starts, numbers, _ROOM, ctypes.byref(done))
            hits += zip(starts[:count], numbers[:count], strict=True)
        return hits

    return search
