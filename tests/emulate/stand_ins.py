"""Calls operators of the stand-in library as a framework does, on numpy arrays."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_bool, c_double, c_float, c_int8, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

from jumar.core.compat import tomllib
from jumar.emulate import env

TYPES = {"float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int64": 9, "float64": 11, "bool": 12,
         "complex64": 16, "complex128": 17}  # fmt: skip
_ND = 2
_API = Path(__file__).resolve().parents[2] / "native" / "api"
PARAMETERS = {
    name: text.split(", ")
    for path in (_API / "opapi.toml", _API / "mindspore" / "opapi.toml")
    for name, text in tomllib.loads(path.read_text(encoding="utf-8"))["works"].items()
}
"""Of each operator call that works, as its row has them."""


class Library:
    """`call("aclnnAdd", x, y, 1.0, out)`: arrays become tensors, floats scalars, lists of int arrays."""

    def __init__(self) -> None:
        self._c = ctypes.CDLL(str(env.libraries()[0]))
        for what in ("Tensor", "Scalar", "IntArray", "BoolArray", "TensorList", "TensorDesc", "DataBuffer"):
            getattr(self._c, f"aclCreate{what}").restype = c_void_p
        self._c.aclopCreateAttr.restype = c_void_p
        self._c.aclGetRecentErrMsg.restype = ctypes.c_char_p

    def error(self) -> str:
        return str(self._c.aclGetRecentErrMsg().decode())

    def call(self, name: str, *arguments: Any) -> int:
        """The error code of an operator call; 0 when it ran."""
        wanted = PARAMETERS.get(name)
        assert wanted is None or len(arguments) == len(wanted), f"{name}({', '.join(wanted)})"
        bytes_, executor = c_uint64(), c_void_p()
        handles = [self._handle(argument) for argument in arguments]
        code = int(self._c[f"{name}GetWorkspaceSize"](*handles, byref(bytes_), byref(executor)))
        return code or int(self._c[name](None, bytes_, executor, None))

    def run(self, name: str, *arguments: Any) -> Any:
        """The last argument after the call, which must have succeeded."""
        code = self.call(name, *arguments)
        assert code == 0, self.error()
        return next(argument for argument in reversed(arguments) if isinstance(argument, np.ndarray))

    def state(self, name: str) -> int:
        """The code of an operator that is called with nothing at all: which one tells whether it is there."""
        return int(self._c[f"{name}GetWorkspaceSize"](*[None] * 60))

    def by_type(self, kind: str, inputs: list[Any], outputs: list[Any], times: int = 1, **attributes: Any) -> int:
        """The same with the older interface; `times` calls with the same attributes are those of one kernel."""
        attr = c_void_p(self._c.aclopCreateAttr())
        for name, value in attributes.items():
            self._attribute(attr, name.encode(), value)
        rows = [(self._descriptors(side), self._buffers(side), len(side)) for side in (inputs, outputs)]
        (in_desc, in_data, ins), (out_desc, out_data, outs) = rows
        return max(int(self._c.aclopCompileAndExecute(
            kind.encode(), ins, in_desc, in_data, outs, out_desc, out_data, attr, 0, 0, None, None))
            for _ in range(times))  # fmt: skip

    def _attribute(self, attr: c_void_p, name: bytes, value: Any) -> None:
        if isinstance(value, bool):
            self._c.aclopSetAttrBool(attr, name, ctypes.c_uint8(value))
        elif isinstance(value, int):
            self._c.aclopSetAttrInt(attr, name, c_int64(value))
        elif isinstance(value, float):
            self._c.aclopSetAttrFloat(attr, name, c_float(value))
        elif isinstance(value, str):
            self._c.aclopSetAttrString(attr, name, value.encode())
        else:
            self._c.aclopSetAttrListInt(attr, name, len(value), (c_int64 * len(value))(*value))

    def _descriptors(self, side: list[Any]) -> Any:
        create = self._c.aclCreateTensorDesc
        made = [create(TYPES[str(a.dtype)], a.ndim, (c_int64 * a.ndim)(*a.shape), _ND) for a in side]
        return (c_void_p * len(made))(*made)

    def _buffers(self, side: list[Any]) -> Any:
        made = [self._c.aclCreateDataBuffer(c_void_p(a.ctypes.data), c_size_t(a.nbytes)) for a in side]
        return (c_void_p * len(made))(*made)

    def _handle(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return c_void_p(self._tensor(value))
        if isinstance(value, float):
            return c_void_p(self._c.aclCreateScalar(byref(c_double(value)), TYPES["float64"]))
        if isinstance(value, complex):
            pair = (c_double * 2)(value.real, value.imag)
            return c_void_p(self._c.aclCreateScalar(byref(pair), TYPES["complex128"]))
        if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
            handles = (c_void_p * len(value))(*[self._tensor(item) for item in value])
            return c_void_p(self._c.aclCreateTensorList(handles, c_uint64(len(value))))
        if isinstance(value, list) and value and isinstance(value[0], bool):
            return c_void_p(self._c.aclCreateBoolArray((c_bool * len(value))(*value), c_uint64(len(value))))
        if isinstance(value, list):
            return c_void_p(self._c.aclCreateIntArray((c_int64 * len(value))(*value), c_uint64(len(value))))
        if isinstance(value, bool):
            return c_bool(value)
        return c_int64(value) if isinstance(value, int) else value

    def _tensor(self, array: Any) -> int:
        dims = (c_int64 * array.ndim)(*array.shape)
        strides = (c_int64 * array.ndim)(*[step // array.itemsize for step in array.strides])
        return int(self._c.aclCreateTensor(
            dims, c_uint64(array.ndim), TYPES[str(array.dtype)], strides, c_int64(0), c_int32(_ND), dims,
            c_uint64(array.ndim), c_void_p(array.ctypes.data)))  # fmt: skip


CUBE = c_int8(0)
"""How precisely the matrix unit shall compute; means nothing here."""


def drawn(*shape: int, kind: str = "float32") -> Any:
    """Normal numbers, the same for the same shape."""
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(kind)


def run(card: Library, kind: str, inputs: list[Any], *outs: Any, **attributes: Any) -> Any:
    """What an operator of the older interface writes: one array, or all of them."""
    assert card.by_type(kind, inputs, list(outs), **attributes) == 0, card.error()
    return outs[0] if len(outs) == 1 else outs
