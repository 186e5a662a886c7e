"""Functions of torch written with others: what a device without a fused operator calls, and no fault."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import torch
import torch.nn.functional as F

Tensor = torch.Tensor
_plain = {name: getattr(F, name) for name in ("cross_entropy", "scaled_dot_product_attention")}


def layer_norm(x: Tensor, shape: Any, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:  # fmt: skip
    axes = tuple(range(-len(shape), 0))
    wide = x.float()
    centred = wide - wide.mean(axes, keepdim=True)
    return _scaled(centred * torch.rsqrt(centred.square().mean(axes, keepdim=True) + eps), weight, bias)


def group_norm(x: Tensor, groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:  # fmt: skip
    y = layer_norm(x.unflatten(1, (groups, -1)).flatten(2), [x.numel() // x.shape[0] // groups], eps=eps)
    shape = (-1, *(1,) * (x.dim() - 2))
    return _scaled(y.view(x.shape), *(one if one is None else one.view(shape) for one in (weight, bias)))


def _scaled(y: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    if approximate == "tanh":
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def silu(x: Tensor, inplace: bool = False) -> Tensor:
    return x * torch.sigmoid(x)


def cross_entropy(x: Tensor, y: Tensor, **options: Any) -> Tensor:
    if options or x.dim() != 2:
        return _plain["cross_entropy"](x, y, **options)
    seen = y != -100
    wide = x.float()
    picked = wide.gather(1, y.clamp_min(0)[:, None])[:, 0] - torch.logsumexp(wide, 1)
    return -(picked * seen).sum() / seen.sum()


def attention(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
              is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Tensor:  # fmt: skip
    if enable_gqa:
        k, v = (one.repeat_interleave(q.shape[-3] // k.shape[-3], -3) for one in (k, v))
    scores = q @ k.transpose(-1, -2) * (scale or 1 / math.sqrt(q.shape[-1]))
    if is_causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), float("-inf"))
    if attn_mask is not None:
        hidden = attn_mask.dtype == torch.bool
        scores = scores.masked_fill(~attn_mask, float("-inf")) if hidden else scores + attn_mask
    return scores.softmax(-1).to(v.dtype) @ v


def functions() -> AbstractContextManager[Any]:
    """Puts them in the place of torch's own."""
    found: dict[str, Callable[..., Tensor]] = {
        "layer_norm": layer_norm, "group_norm": group_norm, "gelu": gelu, "silu": silu,
        "cross_entropy": cross_entropy, "scaled_dot_product_attention": attention,
    }  # fmt: skip
    return mock.patch.multiple(F, **found)
