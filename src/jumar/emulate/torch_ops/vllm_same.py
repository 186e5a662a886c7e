"""Operators of vllm-ascend that torch_npu has under a name of its own.

vllm-project/vllm-ascend csrc/torch_binding.cpp (v0.18.0).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from jumar.emulate.torch_ops import (
    atb_plain,
    attention_selected,
    grouped_matmul,
    grouped_swiglu,
    moe_routing,
    norm,
    sample,
)
from jumar.emulate.torch_ops.registry import operator

operator("_C_ascend::npu_apply_top_k_top_p")(sample.npu_top_k_top_p)
operator("_C_ascend::npu_gemma_rms_norm")(norm.npu_gemma_rms_norm)
operator("_C_ascend::npu_lightning_indexer")(attention_selected.npu_lightning_indexer)
operator("_C_ascend::npu_sparse_flash_attention")(attention_selected.npu_sparse_flash_attention)


@operator("_C_ascend::npu_lightning_indexer_quant")
def npu_lightning_indexer_quant(
    query: Tensor, key: Tensor, weights: Tensor, query_dequant_scale: Tensor, key_dequant_scale: Tensor, **others: Any
) -> Tensor:
    modes = {name: others.pop(name, 0) for name in ("query_quant_mode", "key_quant_mode")}
    return attention_selected.npu_quant_lightning_indexer(
        query, key, weights, query_dequant_scale, key_dequant_scale, **modes, **others
    )


@operator("_C_ascend::rotary_embedding")
def rotary_embedding(
    positions: Tensor, query: Tensor, key: Tensor, head_size: int, cos_sin_cache: Tensor, is_neox: bool
) -> tuple[Tensor, Tensor]:
    atb_plain.rotary_embedding(positions, query, key, head_size, cos_sin_cache, is_neox)
    return query.clone(), key.clone()


@operator("_C_ascend::moe_gating_top_k")
def moe_gating_top_k(x: Tensor, k: int, *numbers: Any, bias_opt: Tensor | None = None, **others: Any) -> Any:
    names = ("k_group", "group_count", "group_select_mode", "renorm", "norm_type", "out_flag",
             "routed_scaling_factor", "eps", "bias")  # fmt: skip
    given = {"bias": bias_opt, **dict(zip(names, numbers)), **others}
    return moe_routing.npu_moe_gating_top_k(x, k, **given)


@operator("_C_ascend::npu_moe_init_routing_custom")
def npu_moe_init_routing_custom(x: Tensor, expert_idx: Tensor, *, quant_mode: int = 0, **others: Any) -> Any:
    return moe_routing.npu_moe_init_routing_v2(x, expert_idx, quant_mode=quant_mode, **others)


@operator("_C_ascend::moe_grouped_matmul")
def moe_grouped_matmul(
    x: Tensor, weight: Tensor, group_list: Tensor, split_item: int, group_type: int, group_list_type: int
) -> list[Tensor]:
    return grouped_matmul.npu_grouped_matmul(
        [x], [weight], group_list=group_list, split_item=split_item, group_type=group_type,
        group_list_type=group_list_type,
    )  # fmt: skip


@operator("_C_ascend::grouped_matmul_swiglu_quant")
def grouped_matmul_swiglu_quant(
    x: Tensor, weight: Tensor, weight_scale: Tensor, x_scale: Tensor, group_list: Tensor, **others: Any
) -> tuple[Tensor, Tensor, Tensor]:
    return grouped_swiglu.npu_grouped_matmul_swiglu_quant(x, weight, group_list, weight_scale, x_scale, **others)


@operator("_C_ascend::grouped_matmul_swiglu_quant_weight_nz_tensor_list")
def grouped_matmul_swiglu_quant_of_list(
    x: Tensor, weight: list[Tensor], weight_scale: list[Tensor], x_scale: Tensor, group_list: Tensor, **others: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """An expert of the list each."""
    weights, scales = (torch.stack([one.squeeze(0) for one in many]) for many in (weight, weight_scale))
    return grouped_matmul_swiglu_quant(x, weights, scales, x_scale, group_list, **others)
