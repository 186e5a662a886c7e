"""The functions of `namespace` for numpy."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
from numpy import (
    abs,
    clip,
    exp,
    max,
    maximum,
    mean,
    min,
    reshape,
    sign,
    sqrt,
    square,
    squeeze,
    stack,
    sum,
    tanh,
    where,
    zeros_like,
)
from numpy import concatenate as concat
from numpy import rint as round

__all__ = [
    "abs", "add_product", "add_scaled", "astype", "clip", "concat", "erf", "exp", "gelu", "gelu_backward", "max",
    "maximum", "mean", "min", "reshape", "round", "rsqrt", "sigmoid", "sign", "silu", "silu_backward", "split",
    "sqrt", "square", "squeeze", "stack", "sum", "tanh", "var", "where", "zeros_like",
]  # fmt: skip

_SQRT_2, _SQRT_2_PI, _CUBIC = 2**0.5, (2 / 3.141592653589793) ** 0.5, 0.044715


def add_product(x: Any, left: Any, right: Any, scale: float) -> Any:
    return x + scale * left * right


def add_scaled(x: Any, y: Any, scale: float) -> Any:
    return x + scale * y


def astype(x: Any, dtype: Any) -> Any:
    return x.astype(dtype)


def erf(x: Any) -> Any:
    from scipy import special

    return special.erf(x)


def gelu(x: Any, *, approximate: str = "none") -> Any:
    return 0.5 * x * (1 + (np.tanh(_bend(x)) if approximate == "tanh" else erf(x / _SQRT_2)))


def gelu_backward(grad: Any, x: Any, *, approximate: str = "none") -> Any:
    if approximate == "tanh":
        bent = np.tanh(_bend(x))
        slope = 0.5 * x * (1 - bent * bent) * _SQRT_2_PI * (1 + 3 * _CUBIC * x * x)
        return grad * (0.5 * (1 + bent) + slope)
    return grad * (0.5 * (1 + erf(x / _SQRT_2)) + x * np.exp(-0.5 * x * x) * (0.5 * _SQRT_2_PI))


def _bend(x: Any) -> Any:
    return _SQRT_2_PI * (x + _CUBIC * x * x * x)


def rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


def sigmoid(x: Any) -> Any:
    from scipy import special

    return special.expit(x)


def silu(x: Any) -> Any:
    return x * sigmoid(x)


def silu_backward(grad: Any, x: Any) -> Any:
    s = sigmoid(x)
    return grad * s * (1 + x * (1 - s))


def split(x: Any, parts: int, axis: int) -> Sequence[Any]:
    return np.split(x, parts, axis)


def var(x: Any, axis: Any, *, keepdims: bool = False) -> Any:
    return np.var(x, axis, keepdims=keepdims)
