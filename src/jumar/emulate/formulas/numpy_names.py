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
    "abs", "add_product", "add_scaled", "astype", "clip", "concat", "erf", "exp", "max", "maximum", "mean", "min",
    "reshape", "round", "rsqrt", "sigmoid", "sign", "split", "sqrt", "square", "squeeze", "stack", "sum", "tanh",
    "var", "where", "zeros_like",
]  # fmt: skip


def add_product(x: Any, left: Any, right: Any, scale: float) -> Any:
    return x + scale * left * right


def add_scaled(x: Any, y: Any, scale: float) -> Any:
    return x + scale * y


def astype(x: Any, dtype: Any) -> Any:
    return x.astype(dtype)


def erf(x: Any) -> Any:
    from scipy import special

    return special.erf(x)


def rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


def sigmoid(x: Any) -> Any:
    from scipy import special

    return special.expit(x)


def split(x: Any, parts: int, axis: int) -> Sequence[Any]:
    return np.split(x, parts, axis)


def var(x: Any, axis: Any, *, keepdims: bool = False) -> Any:
    return np.var(x, axis, keepdims=keepdims)
