"""Numbers of 16 bits: bfloat16, which numpy has no type for, is kept as its bits, and both are computed in float32.

A result is rounded once. numpy converts numbers of 16 bits one by one, torch by vectors: large arrays are torch's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.runtime.interpreter import TensorHandle, _get_np_dtype

numpy_type = _get_np_dtype
_LARGE = 4096
"""Elements from which on torch's vectors are faster than its calls are slow."""


def wide(handle: Any) -> Any:
    """The numbers of a value, in a type that numpy computes with."""
    data = handle.data
    if data.dtype == np.uint16 and handle.dtype.scalar == tl.bfloat16:
        return from_bfloat16(data)
    return _converted(data, np.float32) if data.dtype == np.float16 else data


def value(data: Any, dtype: Any) -> Any:
    """A value of a Triton type from numbers of any type."""
    dtype = dtype.scalar
    if dtype == tl.bfloat16:
        return TensorHandle(data if data.dtype == np.uint16 else to_bfloat16(data), dtype)
    wanted = numpy_type(dtype)
    if data.dtype == wanted:
        return TensorHandle(data, dtype)
    if data.dtype == np.float32 and wanted == np.float16:
        return TensorHandle(_converted(data, wanted), dtype)
    return TensorHandle(data.astype(wanted), dtype)


def from_bfloat16(bits: Any) -> Any:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_bfloat16(numbers: Any) -> Any:
    """To the nearest, ties to even; a number that is none stays one."""
    numbers = np.asarray(numbers, dtype=np.float32)
    if _by_torch(numbers):
        return _of_distinct(numbers, _rounded)
    bits = numbers.view(np.uint32)
    rounded = (bits + (0x7FFF + ((bits >> 16) & 1))) >> 16
    return np.where(np.isnan(numbers), np.uint32(0x7FC0), rounded).astype(np.uint16)


def _rounded(numbers: Any) -> Any:
    """torch gives a number that is none other bits within a vector than behind the last one."""
    bits = _tensor(numbers).bfloat16().view(torch.int16).numpy().view(np.uint16)
    bits[bits == 0xFFFF] = 0x7FC0
    return bits


def _converted(data: Any, dtype: Any) -> Any:
    """Between float16 and float32."""
    if not _by_torch(data):
        return data.astype(dtype)
    wanted = torch.float16 if dtype == np.float16 else torch.float32
    return _of_distinct(data, lambda part: _tensor(part).to(wanted).numpy())


def _by_torch(data: Any) -> bool:
    """Not inside of a mode that would see the conversions as operators of the program."""
    return data.size >= _LARGE and not torch._C._len_torch_dispatch_stack() and not torch._C._len_torch_function_stack()


def _of_distinct(data: Any, convert: Any) -> Any:
    """Without what is there several times because it was broadcast."""
    if 0 not in data.strides:
        return convert(data)
    part = data[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in data.strides)]
    return np.broadcast_to(convert(part), data.shape)


def _tensor(data: Any) -> Any:
    whole = data.flags.writeable and all(stride > 0 for stride in data.strides)
    return torch.from_numpy(data if whole else np.array(data))
