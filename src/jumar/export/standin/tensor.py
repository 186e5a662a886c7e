"""The tensors of `aclruntime`: what sessions take and give."""

from __future__ import annotations

import ctypes
from typing import Any


class Tensor:
    """An array that says it is on a device; `numpy.array(tensor)` gives it back."""

    def __init__(self, array: Any) -> None:
        import numpy

        self._array = numpy.ascontiguousarray(array)
        self.device = -1

    @property
    def shape(self) -> list[int]:
        return list(self._array.shape)

    def to_device(self, device: int) -> None:
        self.device = device

    def to_host(self) -> None:
        self.device = -1

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._array if dtype is None else self._array.astype(dtype)


class BaseTensor(Tensor):
    """Bytes at an address of this process, copied when the tensor is made."""

    def __init__(self, pointer: int, size: int) -> None:
        import numpy

        super().__init__(numpy.frombuffer(ctypes.string_at(pointer, size), "uint8"))
