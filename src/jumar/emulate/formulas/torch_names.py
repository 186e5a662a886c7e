"""The functions of `namespace` for torch: its own, which take the standard's `axis` and `keepdims`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import (
    abs,
    erf,
    exp,
    maximum,
    mean,
    reshape,
    round,
    rsqrt,
    sigmoid,
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
from torch import amax as max
from torch import amin as min
from torch import cat as concat
from torch import clamp as clip
from torch.nn.functional import gelu, silu

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "abs", "add_product", "add_scaled", "astype", "clip", "concat", "erf", "exp", "gelu", "gelu_backward", "max",
    "maximum", "mean", "min", "reshape", "round", "rsqrt", "sigmoid", "sign", "silu", "silu_backward", "split",
    "sqrt", "square", "squeeze", "stack", "sum", "tanh", "var", "where", "zeros_like",
]  # fmt: skip


def add_product(x: Tensor, left: Tensor, right: Tensor, scale: float) -> Tensor:
    return torch.addcmul(x, left, right, value=scale)


def add_scaled(x: Tensor, y: Tensor, scale: float) -> Tensor:
    return torch.add(x, y, alpha=scale)


def astype(x: Tensor, dtype: Any) -> Tensor:
    return x.to(dtype)


gelu_backward = torch.ops.aten.gelu_backward
silu_backward = torch.ops.aten.silu_backward


def split(x: Tensor, parts: int, axis: int) -> Any:
    return torch.chunk(x, parts, axis)


def var(x: Tensor, axis: Any, *, keepdims: bool = False) -> Tensor:
    return torch.var(x, axis, unbiased=False, keepdim=keepdims)
