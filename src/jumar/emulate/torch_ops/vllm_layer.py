"""Layers of vllm-ascend: norms with what is fused to them, the embedding of a rank, products for latent attention.

vllm-project/vllm-ascend csrc/torch_binding.cpp and csrc/*/op_kernel (v0.18.0).
"""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.formulas.norm import rms_norm
from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.group import joined
from jumar.emulate.torch_ops.registry import operator


@operator("_C_ascend::npu_add_rms_norm_bias")
def npu_add_rms_norm_bias(
    x1: Tensor, x2: Tensor, gamma: Tensor, beta: Tensor | None = None, epsilon: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor]:
    x = (wide(x1) + wide(x2)).to(x1.dtype)
    y, rstd = rms_norm(wide(x), wide(gamma), epsilon)
    y = y if beta is None else y + wide(beta)
    return y.to(x1.dtype), rstd.float(), x


@operator("_C_ascend::matmul_allreduce_add_rmsnorm")
def matmul_allreduce_add_rmsnorm(
    x1: Tensor,
    x2: Tensor,
    residual: Tensor,
    gamma: Tensor,
    groupTp: str,
    tpRankSize: int,
    tpRankId: int,
    epsilon: float,
    isTransB: bool,
    isGatherAddOut: bool,
) -> tuple[Tensor, Tensor]:
    """Both results whole on every rank, or the second one by its rows where it is not gathered."""
    with joined(groupTp, "matmul_allreduce_add_rmsnorm", tpRankSize) as group:
        total = group.all_reduce((wide(x1) @ wide(x2.T if isTransB else x2)).to(x1.dtype))
    y, _, added = npu_add_rms_norm_bias(total, residual, gamma, None, epsilon)
    return y, added if isGatherAddOut else added.chunk(group.size)[group.rank].clone()


@operator("_C_ascend::get_masked_input_and_mask")
def get_masked_input_and_mask(
    input: Tensor,
    org_vocab_start_index: int,
    org_vocab_end_index: int,
    num_org_vocab_padding: int,
    added_vocab_start_index: int,
    added_vocab_end_index: int,
) -> tuple[Tensor, Tensor]:
    """Where the words of this rank lie in its part of the table; 0 and a mark for all others."""
    own = (input >= org_vocab_start_index) & (input < org_vocab_end_index)
    added = (input >= added_vocab_start_index) & (input < added_vocab_end_index)
    before = org_vocab_end_index - org_vocab_start_index + num_org_vocab_padding
    shift = own * org_vocab_start_index + added * (added_vocab_start_index - before)
    known = own | added
    return (known * (input - shift)).to(input.dtype), ~known


@operator("_C_ascend::batch_matmul_transpose")
def batch_matmul_transpose(
    tensor_a: Tensor,
    tensor_b: Tensor,
    tensor_c: Tensor,
    format_mode: str | None = None,
    quant_mode: str | None = None,
) -> None:
    """(m, b, k) with (b, k, n) to (m, b, n), written over the third."""
    a, b = tensor_a.transpose(0, 1), tensor_b
    if a.dtype is torch.float16:  # as `bmm` of the card: data/operators.toml
        a, b = wide(a), wide(b)
    tensor_c.copy_(torch.bmm(a, b).transpose(0, 1).reshape(tensor_c.shape))


@operator("_C_ascend::transpose_kv_cache_by_block")
def transpose_kv_cache_by_block(
    kCache: list[Tensor],
    vCache: list[Tensor],
    blockIDs: Tensor,
    blockSize: int,
    headNum: int,
    headDim: int,
    splitNum: int,
    layerNum: int,
) -> None:
    """In the named pages: parts of heads that came one after the other, to heads side by side for each word."""
    pages = blockIDs.long()
    for cache in (*kCache[:layerNum], *vCache[:layerNum]):
        parts = cache[pages].reshape(len(pages), splitNum, blockSize, -1)
        cache[pages] = parts.transpose(1, 2).reshape(len(pages), *cache.shape[1:])


@operator("_C_ascend::get_dispatch_layout")
def get_dispatch_layout(topk_idx: Tensor, num_experts: int, num_ranks: int) -> tuple[Tensor, Tensor, Tensor]:
    """How many words go to each rank and expert, and which words to which ranks."""
    experts = torch.bincount(topk_idx[topk_idx >= 0].flatten().long(), minlength=num_experts)
    ranks = torch.where(topk_idx < 0, num_ranks, topk_idx.long() // (num_experts // num_ranks))
    there = torch.zeros(topk_idx.shape[0], num_ranks + 1, dtype=torch.int32).scatter_(1, ranks, 1)[:, :num_ranks]
    return there.sum(0).int(), experts.int(), there
