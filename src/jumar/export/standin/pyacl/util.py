"""`acl.util`: between numpy, bytes and pointers."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from jumar.export.standin.pyacl.state import INVALID_PARAM, OK, fail

_THREADS: dict[int, threading.Thread] = {}


def start_thread(function: Callable[[Any], Any], args: Any) -> tuple[int, int]:
    """A thread that calls the function with the list, and its number."""
    thread = threading.Thread(target=function, args=(args,), daemon=True)
    thread.start()
    number = thread.ident or 0
    _THREADS[number] = thread
    return number, OK


def stop_thread(number: int) -> int:
    """Waits until the function returns: the program itself must tell it to."""
    thread = _THREADS.pop(number, None)
    if thread is None:
        return fail(INVALID_PARAM, f"{number} is not a thread of acl.util.start_thread")
    thread.join()
    return OK


def numpy_to_ptr(array: Any) -> int:
    return int(array.ctypes.data)


numpy_contiguous_to_ptr = numpy_to_ptr


def ptr_to_numpy(pointer: int, shape: tuple[int, ...], kind: int) -> Any:
    """An array over the memory at a pointer; `kind` is numpy's own number of a type, such as 11 for float32."""
    import numpy

    types = {numpy.dtype(code).num: numpy.dtype(code) for code in "?bBhHiIlLqQefd"}
    if kind not in types:
        raise ValueError(f"{kind} is not a type number of numpy")
    size = types[kind].itemsize
    for dim in shape:
        size *= dim
    block = (ctypes.c_char * size).from_address(pointer)
    return numpy.frombuffer(block, dtype=types[kind]).reshape(shape)


def bytes_to_ptr(data: bytes) -> int:
    """The address of the bytes themselves: they must live as long as it is used."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def ptr_to_bytes(pointer: int, size: int) -> bytes:
    return ctypes.string_at(pointer, size)
