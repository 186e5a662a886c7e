"""Numbers that numpy has no type for: bfloat16 is kept as its 16 bits, computed in float32 and rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import TensorHandle, _get_np_dtype

numpy_type = _get_np_dtype


def wide(handle: Any) -> Any:
    """The numbers of a value, in a type that numpy computes with."""
    if handle.data.dtype == np.uint16 and handle.dtype.scalar == tl.bfloat16:
        return from_bfloat16(handle.data)
    return handle.data


def value(data: Any, dtype: Any) -> Any:
    """A value of a Triton type from numbers of any type."""
    dtype = dtype.scalar
    if dtype == tl.bfloat16:
        return TensorHandle(data if data.dtype == np.uint16 else to_bfloat16(data), dtype)
    wanted = numpy_type(dtype)
    return TensorHandle(data if data.dtype == wanted else data.astype(wanted), dtype)


def from_bfloat16(bits: Any) -> Any:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_bfloat16(numbers: Any) -> Any:
    """To the nearest, ties to even; a number that is none stays one."""
    numbers = np.asarray(numbers, dtype=np.float32)
    bits = numbers.view(np.uint32)
    rounded = (bits + (0x7FFF + ((bits >> 16) & 1))) >> 16
    return np.where(np.isnan(numbers), np.uint32(0x7FC0), rounded).astype(np.uint16)
