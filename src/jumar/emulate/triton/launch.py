"""One launch of a kernel: its arguments as the kernel sees them, and what it did."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

from jumar.emulate.triton.memory import Memory, Region
from jumar.emulate.triton.numbers import numpy_type, value

_TYPES = {
    "float16": "float16", "bfloat16": "bfloat16", "float32": "float32", "float64": "float64", "bool": "int1",
    "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64", "uint8": "uint8", "uint16": "uint16",
    "uint32": "uint32", "uint64": "uint64", "float8_e5m2": "float8e5", "float8_e4m3fn": "float8e4nv",
    "float8_e5m2fnuz": "float8e5b16", "float8_e4m3fnuz": "float8e4b8",
}  # fmt: skip
"""Types of torch, and what Triton calls them."""


class Launch:
    """What all groups of programs of one launch share."""

    def __init__(self, kernel: str, grid: tuple[int, int, int]) -> None:
        self.kernel, self.grid = kernel, grid
        self.regions: dict[int, Region] = {}
        self.memory = Memory([], kernel)
        self.uses_dot = self.atomics = self.debug = False
        self.bare = False
        """Whether an argument is an address without a size: programs hand over their own objects with `data_ptr`."""
        self.watch: Any = None
        self.dtypes: list[str] = []
        self.notes: list[tuple[str, str]] = []
        """Functions with data types that a card does not take."""
        self.broken: dict[str, None] = {}
        """What assertions said that did not hold, and that no compiler keeps unless asked."""

    def ready(self) -> None:
        """All arguments are known."""
        self.memory = Memory(list(self.regions.values()), self.kernel)
        self.memory.checked = not self.bare

    @staticmethod
    def specialised(parameter: Any, given: Any) -> bool:
        """Whether the compiler takes an argument as a constant: it does with the integer 1."""
        return type(given) is int and given == 1 and not getattr(parameter, "do_not_specialize", False)

    def argument(
        self, name: str, given: Any, annotation: str = "", language: Any = None, constant: bool = False
    ) -> Any:
        """An argument as a value of the language; what is no number or tensor stays what it is."""
        if isinstance(given, bool):
            return _scalar(np.array([given]), tl.int1)
        if isinstance(given, int):
            return _scalar(np.array([given], _integer(given)), _named(annotation))
        if isinstance(given, float):
            return _scalar(np.array([given], np.float64), _named(annotation) or tl.float32)
        if hasattr(given, "data_ptr"):
            return self._pointer(name, given, constant=constant)
        if isinstance(given, tuple):
            found = [self.argument(name, one, language=language) for one in given]
            return type(given)(*found) if hasattr(given, "_fields") else tuple(found)
        if type(given).__name__ == "TensorDescriptor":
            return self._descriptor(name, given, language)
        return given

    def _pointer(self, name: str, tensor: Any, *, constant: bool) -> Any:
        base: Any = getattr(tensor, "base", None) if type(tensor).__name__ == "TensorWrapper" else tensor
        storage: Any = base.untyped_storage() if hasattr(base, "untyped_storage") else None
        if hasattr(storage, "nbytes"):
            if storage.nbytes():
                self.regions.setdefault(storage.data_ptr(), Region(name, storage.data_ptr(), storage.nbytes()))
        else:
            self.bare = True
        dtype = pointee(tensor.dtype)
        self.dtypes.append(dtype.name)
        kind = tl.pointer_type(dtype, const=True) if constant else tl.pointer_type(dtype)
        return tl.tensor(TensorHandle(np.array([tensor.data_ptr()], np.uint64), kind), kind)

    def _descriptor(self, name: str, given: Any, language: Any) -> Any:
        shape = [self.argument(name, int(size)) for size in given.shape]
        strides = [self.argument(name, int(stride)) for stride in given.strides]
        padding = {"padding_option": given.padding} if hasattr(given, "padding") else {}
        return language.semantic.make_tensor_descriptor(
            self.argument(name, given.base), shape, [*strides[:-1], tl.constexpr(1)], list(given.block_shape), **padding
        )


def pointee(dtype: Any) -> Any:
    """Triton's type of what a tensor holds."""
    if isinstance(dtype, tl.dtype):
        return dtype
    return getattr(tl, _TYPES[str(dtype).rsplit(".", 1)[-1]])


def _scalar(data: Any, dtype: Any) -> Any:
    """A scalar; an integer without an annotation has the type of its size."""
    dtype = dtype or getattr(tl, data.dtype.name)
    handle = value(data, dtype) if dtype == tl.bfloat16 else TensorHandle(data.astype(numpy_type(dtype)), dtype)
    return tl.tensor(handle, dtype)


def _integer(number: int) -> Any:
    """As Triton's launcher chooses: 32 bits where they are enough."""
    if -(2**31) <= number < 2**31:
        return np.int32
    return np.int64 if number < 2**63 else np.uint64


def _named(annotation: str) -> Any:
    """The type that an annotation asks for: `tl.int64`, "i64" or "u8"."""
    for short, long in (("fp", "float"), ("bf", "bfloat"), ("i", "int"), ("u", "uint")):
        bits = annotation[len(short) :]
        if annotation.startswith(short) and bits.isdigit():
            return tl.int1 if bits == "1" else getattr(tl, f"{long}{bits}")
    return None
