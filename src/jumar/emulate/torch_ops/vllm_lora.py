"""Low-rank adapters of vllm-ascend: each row of a batch with the adapter of its request.

vllm-project/vllm-ascend csrc/kernels/bgmv_*.cpp and sgmv_*.cpp (v0.18.0).
"""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.registry import operator

_HALVES = (torch.float16, torch.bfloat16)


def _products(x: Tensor, weight: Tensor, adapters: Tensor) -> Tensor:
    """x @ weight of its adapter; rows without one (-1) give zeros."""
    known = adapters.long()
    out = torch.zeros(x.shape[0], weight.shape[-2])
    for adapter in known.unique().tolist():
        if adapter >= 0:
            rows = known == adapter
            out[rows] = wide(x[rows]) @ wide(weight[adapter].reshape(weight.shape[-2:])).T
    return out


def _by_rows(adapters: Tensor, lengths: Tensor, rows: int) -> Tensor:
    """The adapter of each row, of requests with so many rows; those beyond have none."""
    found = torch.full((rows,), -1, dtype=torch.int64)
    spread = adapters.long().repeat_interleave(lengths.long())[:rows]
    found[: len(spread)] = spread
    return found


def _check(kind: torch.dtype) -> None:
    if kind not in _HALVES:
        raise RuntimeError("only support half and bf16")


@operator("_C_ascend::bgmv_shrink")
def bgmv_shrink(x: Tensor, weight: Tensor, indices: Tensor, y: Tensor, scale: float) -> None:
    _check(x.dtype)
    chosen = (indices >= 0).unsqueeze(-1)
    y.copy_(torch.where(chosen, _products(x, weight, indices) * scale, wide(y)))


@operator("_C_ascend::sgmv_shrink")
def sgmv_shrink(x: Tensor, weight: Tensor, lora_indices: Tensor, seq_len: Tensor, y: Tensor, scale: float) -> None:
    bgmv_shrink(x, weight, _by_rows(lora_indices, seq_len, x.shape[0]), y, scale)


@operator("_C_ascend::bgmv_expand")
def bgmv_expand(x: Tensor, weight: Tensor, indices: Tensor, y: Tensor, slice_offset: int, slice_size: int) -> Tensor:
    _check(y.dtype)
    place = y[:, slice_offset : slice_offset + slice_size]
    place.copy_(wide(place) + _products(x, weight, indices)[:, :slice_size])
    return y.clone()


@operator("_C_ascend::sgmv_expand")
def sgmv_expand(
    x: Tensor, weight: Tensor, lora_indices: Tensor, seq_len: Tensor, y: Tensor, slice_offset: int, slice_size: int
) -> Tensor:
    return bgmv_expand(x, weight, _by_rows(lora_indices, seq_len, x.shape[0]), y, slice_offset, slice_size)
