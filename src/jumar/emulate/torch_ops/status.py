"""Overflow flags and hints.

Numbers become inf or nan as on chips in INF_NAN mode, where the vendor's flag stays zero as well; with the numerics of
a card that saturates, the flag tells that a result was cut off.
"""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.numerics import install
from jumar.emulate.torch_ops.registry import operator


@operator()
def npu_alloc_float_status(input: Tensor) -> Tensor:
    return torch.zeros(8)


@operator()
def npu_get_float_status(input: Tensor, mode: int = 0) -> Tensor:
    status = input.clone()
    if install.overflowed():
        status[0] = 1
    return status


@operator()
def npu_clear_float_status(input: Tensor, mode: int = 0) -> Tensor:
    install.overflowed(clear=True)
    return torch.zeros(8)


@operator()
def _amp_foreach_non_finite_check(scaled_grads: list[Tensor]) -> bool:
    if install.overflowed(clear=True):
        return True
    return any(not bool(torch.isfinite(g).all()) for g in scaled_grads)


@operator()
def npu_prefetch(input: Tensor, dependency: Tensor | None, max_size: int, offset: int = 0) -> None:
    """Brings a weight near the cores ahead of time, which only affects speed."""
