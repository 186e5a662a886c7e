"""Overflow flags and hints.

The emulated card has no overflow flag: numbers become inf or nan, as on chips in INF_NAN mode,
where the vendor's flag stays zero as well.
"""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.ops.registry import operator


@operator()
def npu_alloc_float_status(input: Tensor) -> Tensor:
    return torch.zeros(8)


@operator()
def npu_get_float_status(input: Tensor, mode: int = 0) -> Tensor:
    return input.clone()


@operator()
def npu_clear_float_status(input: Tensor, mode: int = 0) -> Tensor:
    return torch.zeros(8)


@operator()
def _amp_foreach_non_finite_check(scaled_grads: list[Tensor]) -> bool:
    return any(not bool(torch.isfinite(g).all()) for g in scaled_grads)


@operator()
def npu_prefetch(input: Tensor, dependency: Tensor | None, max_size: int, offset: int = 0) -> None:
    """Brings a weight near the cores ahead of time, which only affects speed."""
