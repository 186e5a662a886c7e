"""Functions of each element, in place and not."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from ..formulas import activation
from .registry import operator


def divide(x: Any, other: Any, how: int) -> Any:
    """As it is, cut, or rounded down."""
    quotient = x / other if how != 2 else np.floor_divide(x, other)
    return np.trunc(quotient) if how == 1 else quotient


operator("aclnnGlu")(activation.glu)
operator("aclnnGluBackward")(activation.glu_backward)
operator("aclnnFrac")(lambda x: x - np.trunc(x))
operator("aclnnGcd")(np.gcd)
operator("aclnnLeftShift")(np.left_shift)
operator("aclnnIsNegInf")(np.isneginf)
operator("aclnnLogAddExp")(np.logaddexp)
operator("aclnnLogAddExp2")(np.logaddexp2)
operator("aclnnEqual")(np.array_equal)
operator("aclnnRemainderScalarTensor")(np.mod)
operator("aclnnInplaceRemainderTensorTensor", "aclnnInplaceRemainderTensorScalar")(np.mod)
operator("aclnnInplaceFloorDivides")(np.floor_divide)
operator("aclnnInplaceDivMod", "aclnnInplaceDivMods")(divide)
operator("aclnnInplaceErfinv")(special.erfinv)
operator("aclnnPolar")(lambda size, angle: size * np.exp(1j * angle.astype(np.float64)))
operator("aclnnHardtanh", "aclnnInplaceHardtanh")(np.clip)
operator("aclnnThreshold", "aclnnInplaceThreshold")(lambda x, bound, value: np.where(x > bound, x, value))
operator("aclnnHardshrink")(lambda x, bound: np.where(np.abs(x) > bound, x, 0))
operator("aclnnSoftshrink")(lambda x, bound: np.sign(x) * np.maximum(np.abs(x) - bound, 0))
operator("aclnnHardshrinkBackward", "aclnnSoftshrinkBackward")(
    lambda grad, x, bound: np.where(np.abs(x) > bound, grad, 0)
)
operator("aclnnHardtanhBackward")(lambda grad, x, low, high: np.where((x > low) & (x < high), grad, 0))
operator("aclnnIsClose")(lambda x, other, relative, absolute, nan: np.isclose(x, other, relative, absolute, bool(nan)))


@operator("aclnnReduceNansum")
def sum_of_numbers(x: Any, dims: Any, keep: int, dtype: int) -> Any:
    axes = tuple(dims) if x.ndim else ()  # a single number has an axis 0 for clients
    return np.nansum(x, axis=axes or None, keepdims=bool(keep))


@operator("aclnnInplaceElu")
def elu(x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    return np.where(x > 0, scale * x, alpha * scale * np.expm1(np.minimum(x, 0) * input_scale))


@operator("aclnnRoundDecimals")
def round_decimals(x: Any, decimals: int) -> Any:
    return np.around(x, decimals)


@operator("aclnnLinalgCross")
def cross(x: Any, other: Any, axis: int) -> Any:
    x, other = np.broadcast_arrays(x, other)
    return np.cross(x, other, axis=axis)
