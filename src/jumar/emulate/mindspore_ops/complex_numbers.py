"""Operators for complex numbers: the kernels of the stand-ins compute real ones, and hand these calls over.

Their rows are `complex` in native/api/mindspore: a name there has its parameters, or its kernel, as for real numbers.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import numpy as np

from .older_elementwise import total_so_far
from .registry import operator

_call = functools.partial(operator, by_order=True)
"""For operator calls, whose rows are those of the kernels for real numbers."""

# Of one input: the name behind `aclnn`, and by type.
_ONE: dict[str, Callable[..., Any]] = {
    "Abs": np.abs,
    "Acos": np.arccos,
    "Acosh": np.arccosh,
    "Asin": np.arcsin,
    "Asinh": np.arcsinh,
    "Atan": np.arctan,
    "Atanh": np.arctanh,
    "Cos": np.cos,
    "Cosh": np.cosh,
    "Exp": np.exp,
    "Expm1": np.expm1,
    "IsFinite": np.isfinite,
    "IsInf": np.isinf,
    "Log": np.log,
    "Log10": np.log10,
    "Log1p": np.log1p,
    "Log2": np.log2,
    "LogicalNot": np.logical_not,
    "Neg": np.negative,
    "Reciprocal": np.reciprocal,
    "Rsqrt": lambda x: 1 / np.sqrt(x),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Sin": np.sin,
    "Sinh": np.sinh,
    "Sqrt": np.sqrt,
    "Tan": np.tan,
    "Tanh": np.tanh,
}
_TYPES_OF_ONE = ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Exp", "Expm1", "Log", "Log1p", "Neg",
                 "Reciprocal", "Rsqrt", "Sigmoid", "Sin", "Sqrt", "Tanh")  # fmt: skip
_CALLS_OF_TWO: dict[str, Callable[..., Any]] = {
    "Div": np.divide,
    "Divs": np.divide,
    "EqScalar": np.equal,
    "EqTensor": np.equal,
    "LogicalAnd": np.logical_and,
    "LogicalOr": np.logical_or,
    "LogicalXor": np.logical_xor,
    "Mul": np.multiply,
    "Muls": np.multiply,
    "NeScalar": np.not_equal,
    "NeTensor": np.not_equal,
    "PowScalarTensor": np.power,
    "PowTensorScalar": np.power,
    "PowTensorTensor": np.power,
}
_TYPES_OF_TWO: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "Div": np.divide,
    "Equal": np.equal,
    "Mul": np.multiply,
    "NotEqual": np.not_equal,
    "Pow": np.power,
    "RealDiv": np.divide,
    "Sub": np.subtract,
}


def _register() -> None:
    for name, function in _ONE.items():
        _call(f"aclnn{name}")(function)
    for name in _TYPES_OF_ONE:
        operator(name)(_ONE[name])
    for name, function in _CALLS_OF_TWO.items():
        _call(f"aclnn{name}")(function)
    for name, function in _TYPES_OF_TWO.items():
        operator(name)(function)


_register()
_call("aclnnInplaceExp")(np.exp)
_call("aclnnInplaceLog")(np.log)
_call("aclnnInplaceMul", "aclnnInplaceMuls")(np.multiply)
_call("aclnnInplaceDiv", "aclnnInplaceDivs")(np.divide)
_call("aclnnInplaceZero")(lambda x: np.zeros_like(x))
_call("aclnnInplaceOne")(lambda x: np.ones_like(x))
_call("aclnnInplaceCopy", "aclnnInplaceFillScalar", "aclnnInplaceFillTensor")(lambda _, source: source)
_call("aclnnInplaceMaskedFillScalar", "aclnnInplaceMaskedFillTensor")(lambda x, mask, value: np.where(mask, value, x))
_call("aclnnAdd", "aclnnAdds", "aclnnInplaceAdd", "aclnnInplaceAdds")(lambda x, y, alpha: x + alpha * y)
_call("aclnnSub", "aclnnSubs", "aclnnInplaceSub", "aclnnInplaceSubs")(lambda x, y, alpha: x - alpha * y)
_call("aclnnCast", "aclnnExpand")(lambda x, _: x)
_call("aclnnPermute")(np.transpose)
_call("aclnnCat")(np.concatenate)
_call("aclnnStack")(np.stack)
_call("aclnnFlip")(lambda x, axes: np.flip(x, tuple(axes)))
_call("aclnnRoll")(lambda x, shifts, axes: np.roll(x, shifts, tuple(axes)) if axes else np.roll(x, shifts[0]))
_call("aclnnRepeat")(np.tile)
_call("aclnnTril")(np.tril)
_call("aclnnTriu")(np.triu)
_call("aclnnSWhere", "aclnnSelectV2")(np.where)
_call("aclnnGather")(lambda x, axis, index: np.take_along_axis(x, index.astype(np.int64), axis))
_call("aclnnIndexSelect")(lambda x, axis, index: np.take(x, index, axis))
_call("aclnnMatmul", "aclnnMm", "aclnnBatchMatMul", "aclnnMv")(lambda x, y, _: np.matmul(x, y))
_call("aclnnDot")(np.dot)
_call("aclnnProd")(lambda x, _: np.prod(x))
_call("aclnnCumsum")(lambda x, axis, _: np.cumsum(x, axis))


def _running(add: np.ufunc, first: int) -> Any:
    def call(inputs: Any, attributes: Any, outputs: Any) -> Any:
        axis = int(np.reshape(inputs.get(1) if inputs.get(1) is not None else attributes.get("axis", 0), -1)[0])
        return total_so_far(inputs[0], axis, attributes, add, first)

    return call


operator("Cumprod")(_running(np.multiply, 1))
operator("Cumsum")(_running(np.add, 0))


@_call("aclnnSlice")
def cut(x: Any, axis: int, start: int, end: int, step: int) -> Any:
    return x[(slice(None),) * (axis % x.ndim) + (slice(start, end, step),)]


@_call("aclnnSplitWithSize")
def split(x: Any, sizes: Any, axis: int) -> Any:
    return np.split(x, np.cumsum(sizes)[:-1], axis)


@_call("aclnnSplitTensor")
def split_evenly(x: Any, size: int, axis: int) -> Any:
    return np.split(x, range(size, x.shape[axis], size), axis)


def _over(x: Any, axes: Any) -> Any:
    """None for all axes, where none is named; a single number has an axis 0 for clients."""
    return tuple(int(axis) for axis in axes) or None if np.ndim(x) else ()


@_call("aclnnReduceSum")
def add_up(x: Any, axes: Any, keep: int, _: int) -> Any:
    return np.sum(x, _over(x, axes), keepdims=bool(keep))


@_call("aclnnMean")
def mean(x: Any, axes: Any, keep: int, _: int) -> Any:
    return np.mean(x, _over(x, axes), keepdims=bool(keep))


@_call("aclnnProdDim")
def multiply_up(x: Any, axis: int, keep: int, _: int) -> Any:
    return np.prod(x, axis, keepdims=bool(keep))


@operator("BroadcastTo", "Cast", "ExpandDims", "Flatten", "Reshape", "Squeeze", "TensorMove")
def copy(x: Any) -> Any:
    """What is stored says the shape and the type."""
    return x


@operator("Fill")
def fill(dims: Any, value: Any) -> Any:
    return value


@operator("ZerosLike")
def zeros(x: Any) -> Any:
    return np.zeros_like(x)


@operator("OnesLike")
def ones(x: Any) -> Any:
    return np.ones_like(x)


@operator("Square")
def square(x: Any) -> Any:
    return x * x


@operator("Assign")
def assign(x: Any, other: Any) -> Any:
    return other


@operator("AssignAdd")
def assign_add(x: Any, other: Any) -> Any:
    return x + other


@operator("AssignSub")
def assign_sub(x: Any, other: Any) -> Any:
    return x - other


@operator("AddN")
def add_all(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return sum(inputs[1:], inputs[0])


@operator("Select")
def choose(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return np.where(*inputs)


@operator("Transpose")
def transpose(inputs: Any, attributes: Any, outputs: Any) -> Any:
    order = inputs.get(1) if inputs.get(1) is not None else attributes["perm"]
    return np.transpose(inputs[0], [int(axis) for axis in order])


@operator("ConcatD")
def concatenate(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return np.concatenate(list(inputs), int(attributes.get("concat_dim", 0)))


@operator("Pack")
def stack(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return np.stack(list(inputs), int(attributes.get("axis", 0)))


@operator("ReduceSum")
def reduce_sum(inputs: Any, attributes: Any, outputs: Any) -> Any:
    axes = inputs.get(1) if inputs.get(1) is not None else attributes.get("axes") or ()
    return np.sum(inputs[0], _over(inputs[0], np.reshape(axes, -1)))


@operator("ReduceMean")
def reduce_mean(inputs: Any, attributes: Any, outputs: Any) -> Any:
    axes = inputs.get(1) if inputs.get(1) is not None else attributes.get("axes") or ()
    return np.mean(inputs[0], _over(inputs[0], np.reshape(axes, -1)))


@operator("BiasAddGrad")
def bias_backward(x: Any) -> Any:
    return np.sum(x, tuple(axis for axis in range(x.ndim) if axis != 1))


@operator("MatMul", "MatMulV2", "BatchMatMul")
def product(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x, y = (np.array(one) for one in inputs[:2])
    if attributes.get("transpose_x1") or attributes.get("adj_x1"):
        x = np.swapaxes(x, -1, -2)
    if attributes.get("transpose_x2") or attributes.get("adj_x2"):
        y = np.swapaxes(y, -1, -2)
    return np.matmul(x, y)
