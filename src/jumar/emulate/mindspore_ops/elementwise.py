"""Functions of each element, in place and not."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .registry import kernel


def divide(x: Any, other: Any, how: int) -> Any:
    """As it is, cut, or rounded down."""
    quotient = x / other if how != 2 else np.floor_divide(x, other)
    return np.trunc(quotient) if how == 1 else quotient


kernel("aclnnFrac")(lambda x: x - np.trunc(x))
kernel("aclnnGcd")(np.gcd)
kernel("aclnnLeftShift")(np.left_shift)
kernel("aclnnIsNegInf")(np.isneginf)
kernel("aclnnLogAddExp")(np.logaddexp)
kernel("aclnnLogAddExp2")(np.logaddexp2)
kernel("aclnnEqual")(np.array_equal)
kernel("aclnnRemainderScalarTensor")(np.mod)
kernel("aclnnInplaceRemainderTensorTensor", "aclnnInplaceRemainderTensorScalar")(np.mod)
kernel("aclnnInplaceFloorDivides")(np.floor_divide)
kernel("aclnnInplaceDivMod", "aclnnInplaceDivMods")(divide)
kernel("aclnnInplaceErfinv")(special.erfinv)
kernel("aclnnPolar")(lambda size, angle: size * np.exp(1j * angle.astype(np.float64)))
kernel("aclnnHardtanh", "aclnnInplaceHardtanh")(np.clip)
kernel("aclnnThreshold", "aclnnInplaceThreshold")(lambda x, bound, value: np.where(x > bound, x, value))
kernel("aclnnHardshrink")(lambda x, bound: np.where(np.abs(x) > bound, x, 0))
kernel("aclnnSoftshrink")(lambda x, bound: np.sign(x) * np.maximum(np.abs(x) - bound, 0))
kernel("aclnnHardshrinkBackward", "aclnnSoftshrinkBackward")(
    lambda grad, x, bound: np.where(np.abs(x) > bound, grad, 0)
)
kernel("aclnnHardtanhBackward")(lambda grad, x, low, high: np.where((x > low) & (x < high), grad, 0))
kernel("aclnnIsClose")(lambda x, other, relative, absolute, nan: np.isclose(x, other, relative, absolute, bool(nan)))


@kernel("aclnnReduceNansum")
def sum_of_numbers(x: Any, dims: Any, keep: int, _: int) -> Any:
    axes = tuple(dims) if x.ndim else ()  # a single number has an axis 0 for clients
    return np.nansum(x, axis=axes or None, keepdims=bool(keep))


@kernel("aclnnInplaceElu")
def elu(x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    return np.where(x > 0, scale * x, alpha * scale * np.expm1(np.minimum(x, 0) * input_scale))


@kernel("aclnnRoundDecimals")
def round_decimals(x: Any, decimals: int) -> Any:
    return np.around(x, decimals)


@kernel("aclnnGlu")
def glu(x: Any, axis: int) -> Any:
    left, right = np.split(x, 2, axis)
    return left * special.expit(right)


@kernel("aclnnGluBackward")
def glu_backward(grad: Any, x: Any, axis: int) -> Any:
    left, right = np.split(x, 2, axis)
    gate = special.expit(right)
    return np.concatenate([grad * gate, grad * left * gate * (1 - gate)], axis)


@kernel("aclnnLinalgCross")
def cross(x: Any, other: Any, axis: int) -> Any:
    x, other = np.broadcast_arrays(x, other)
    return np.cross(x, other, axis=axis)
