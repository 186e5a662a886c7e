"""Sampling: top-k and top-p filters, exponential numbers, random choice of marked places."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.registry import operator


@operator()
def npu_top_k_top_p(logits: Tensor, p: Tensor | None = None, k: Tensor | None = None) -> Tensor:
    """Logits outside the k largest, and outside the smallest set with probability p, become -inf."""
    values, order = wide(logits).sort(dim=-1, stable=True)
    if k is not None:
        last = (values.shape[-1] - k.long()).clamp(0, values.shape[-1] - 1).unsqueeze(-1)
        values = values.masked_fill(values < values.gather(-1, last), float("-inf"))
    if p is not None:
        below = values.softmax(-1).cumsum(-1) <= 1 - wide(p).unsqueeze(-1)
        below[..., -1] = False
        values = values.masked_fill(below, float("-inf"))
    return torch.empty_like(values).scatter_(-1, order, values).to(logits.dtype)


@operator()
def npu_sim_exponential_(input: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    return input.exponential_(lambd, generator=generator)


@operator()
def npu_random_choice_with_mask(x: Tensor, count: int = 256, seed: int = 0, seed2: int = 0) -> tuple[Tensor, Tensor]:
    places = x.bool().nonzero()
    if places.shape[0] > count:
        generator = torch.Generator().manual_seed(seed * 2**32 + seed2) if seed or seed2 else None
        places = places[torch.randperm(places.shape[0], generator=generator)[:count]]
    out = torch.zeros(count, x.dim(), dtype=torch.int32)
    out[: places.shape[0]] = places.int()
    return out, torch.arange(count) < places.shape[0]
