"""Tensors of the emulated card as numpy arrays: without a copy, except of half precision, which is computed wider."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

# Numbers of the vendor's enum aclDataType.
_DTYPES = {
    0: np.float32, 1: np.float16, 2: np.int8, 3: np.int32, 4: np.uint8, 6: np.int16, 7: np.uint16, 8: np.uint32,
    9: np.int64, 10: np.uint64, 11: np.float64, 12: np.bool_, 16: np.complex64, 17: np.complex128, 27: np.uint16,
}  # fmt: skip
FLOAT, FLOAT16, BFLOAT16, STRING, INT4 = 0, 1, 27, 13, 29


class Place:
    """A tensor that is written: its shape, its type, and the room it has."""

    def __init__(self, type_: int, dims: Any, count: int, strides: Any, data: int | None) -> None:
        self.type = type_
        self._dims, self._count, self._strides, self._data = dims, count, strides, data

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._dims[at] for at in range(self._count))

    @property
    def dtype(self) -> Any:
        """The type to compute in."""
        return np.dtype(np.float32 if self.type in (FLOAT16, BFLOAT16) else _DTYPES[self.type])

    def raw(self) -> Any:
        """The memory itself."""
        dtype = np.dtype(_DTYPES[self.type])
        shape = self.shape
        if 0 in shape or not self._data:
            return np.empty(shape, dtype)
        steps = tuple(self._strides[at] * dtype.itemsize for at in range(self._count))
        room = sum((size - 1) * step for size, step in zip(shape, steps)) + dtype.itemsize
        return np.ndarray(shape, dtype, (ctypes.c_char * room).from_address(self._data), 0, steps)

    def read(self) -> Any:
        """Its values; half precision as float32, texts as such."""
        if self.type == STRING:
            start, length = (ctypes.c_int64 * 2).from_address(self._data or 0)
            return ctypes.string_at((self._data or 0) + start, length).decode(errors="replace")
        if self.type == INT4:
            return self._nibbles()
        raw = self.raw()
        if self.type == BFLOAT16:
            return from_bfloat16(raw)
        return raw.astype(np.float32) if self.type == FLOAT16 else raw

    def _nibbles(self) -> Any:
        """Numbers of four bits as int8: two in a byte, the first below."""
        shape, steps = self.shape, [self._strides[at] for at in range(self._count)]
        if 0 in shape or not self._data:
            return np.empty(shape, np.int8)
        count = sum((size - 1) * step for size, step in zip(shape, steps)) + 1
        packed = np.frombuffer((ctypes.c_char * ((count + 1) // 2)).from_address(self._data), np.uint8)
        flat = np.stack([packed & 15, packed >> 4], -1).reshape(-1).astype(np.int8)
        signed = np.where(flat > 7, flat - 16, flat).astype(np.int8)
        return np.lib.stride_tricks.as_strided(signed, shape, steps)

    def write(self, value: Any) -> None:
        """Rounds to its type; a value of another shape must have as many elements."""
        value = np.asarray(value)
        if value.shape != self.shape:
            value = np.reshape(value, self.shape) if value.size == self.size else np.broadcast_to(value, self.shape)
        raw = self.raw()
        if self.type == BFLOAT16:
            raw[...] = bfloat16(value)
        elif value.dtype.kind == "c" and raw.dtype.kind != "c":
            raw[...] = value != 0 if raw.dtype.kind == "b" else value.real
        else:
            with np.errstate(all="ignore"):
                raw[...] = value.astype(raw.dtype)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def write_part(self, value: Any) -> None:
        """A result whose size is known only now: fills the front of the room, and says how large it is."""
        value = np.asarray(value)
        if value.ndim != self._count or value.size > self.size:
            raise ValueError(f"a result of shape {value.shape} does not fit into {self.shape}")
        for axis, length in enumerate(value.shape):
            self._dims[axis] = length
        step = 1
        for axis in range(self._count - 1, -1, -1):
            self._strides[axis] = step
            step *= max(1, value.shape[axis])
        self.write(value)


def from_bfloat16(bits: Any) -> Any:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def bfloat16(value: Any) -> Any:
    """Rounded to the nearest, ties to even; what is no number stays none."""
    with np.errstate(all="ignore"):
        single = np.ascontiguousarray(value, dtype=np.float32)
    bits = single.view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(single), np.uint16(0x7FC0), rounded).reshape(np.shape(value))
