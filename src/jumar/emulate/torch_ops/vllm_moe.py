"""A layer of experts of vllm-ascend in one operator: tokens go to their experts, through both products, and back.

vllm-project/vllm-ascend csrc/dispatch_gmm_combine_decode, csrc/dispatch_ffn_combine (v0.18.0). The test of the first
one compares it with the chain of torch_npu's operators that is written here.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from jumar.emulate.torch_ops import moe_distribute
from jumar.emulate.torch_ops.activation import npu_swiglu
from jumar.emulate.torch_ops.group import joined
from jumar.emulate.torch_ops.grouped_matmul import npu_grouped_matmul
from jumar.emulate.torch_ops.integers import unpack_scale
from jumar.emulate.torch_ops.norm_quant import npu_dequant_swiglu_quant
from jumar.emulate.torch_ops.registry import operator

_Tensors = list[Tensor]
_Layer = tuple[_Tensors, _Tensors]
"""The weights and scales of one product: a tensor for each expert, or one for all."""


@operator("_C_ascend::dispatch_gmm_combine_decode")
def dispatch_gmm_combine_decode(
    x: Tensor,
    expert_ids: Tensor,
    gmm1_permuted_weight: _Tensors,
    gmm1_permuted_weight_scale: _Tensors,
    gmm2_weight: _Tensors,
    gmm2_weight_scale: _Tensors,
    expert_scales: Tensor,
    expert_smooth_scales: Tensor | None = None,
    x_active_mask: Tensor | None = None,
    group_ep: str = "",
    ep_rank_size: int = 0,
    ep_rank_id: int = 0,
    moe_expert_num: int = 0,
    shared_expert_num: int = 1,
    shared_expert_rank_num: int = 0,
    quant_mode: int = 0,
    global_bs: int = 0,
) -> tuple[Tensor, Tensor]:
    """`expert_smooth_scales` and `quant_mode` are not read by the kernel, either."""
    first, second = (gmm1_permuted_weight, gmm1_permuted_weight_scale), (gmm2_weight, gmm2_weight_scale)
    place = {
        "group_ep": group_ep, "ep_world_size": ep_rank_size, "ep_rank_id": ep_rank_id, "moe_expert_num": moe_expert_num,
        "shared_expert_num": shared_expert_num, "shared_expert_rank_num": shared_expert_rank_num,
        "x_active_mask": x_active_mask, "global_bs": global_bs,
    }  # fmt: skip
    out, counts = _through_experts(x, expert_ids, expert_scales, (first, second), place)
    return out.to(x.dtype), counts


@operator("_C_ascend::dispatch_ffn_combine")
def dispatch_ffn_combine(
    x: Tensor,
    weight1: _Tensors,
    weight2: _Tensors,
    expert_idx: Tensor,
    scale1: _Tensors,
    scale2: _Tensors,
    probs: Tensor,
    group: str,
    max_output_size: int,
    out: Tensor,
    expert_token_nums: Tensor,
) -> tuple[Tensor, Tensor]:
    """What a rank receives beyond `max_output_size` tokens is left out of the sums."""
    with joined(group, "dispatch_ffn_combine") as ranks:
        local = sum(one.shape[0] if one.dim() == 3 else 1 for one in weight1)
        place = {"group_ep": group, "ep_world_size": ranks.size, "ep_rank_id": ranks.rank,
                 "moe_expert_num": local * ranks.size}  # fmt: skip
    layers = (weight1, scale1), (weight2, scale2)
    total, counts = _through_experts(x, expert_idx, probs, layers, place, max_output_size)
    out.copy_(total)
    expert_token_nums.copy_(counts.reshape(expert_token_nums.shape))
    return out.clone(), expert_token_nums.clone()


def _through_experts(
    x: Tensor, chosen: Tensor, weights: Tensor, layers: tuple[_Layer, _Layer], place: dict[str, Any], most: int = -1
) -> tuple[Tensor, Tensor]:
    """The sum per token, and how many tokens came to each expert of this rank."""
    mode = 2 if layers[0][0][0].dtype == torch.int8 else 0
    sent = moe_distribute.npu_moe_distribute_dispatch_v2(x, chosen, **place, quant_mode=mode)
    values, scale, info, counts, received = sent[:5]
    total = int(counts.sum())
    worked = _feed_forward(values[:total], scale[:total], counts, layers, x.dtype)
    if 0 <= most < total:
        worked[most:] = 0
    return moe_distribute.npu_moe_distribute_combine(worked, chosen, info, received, weights, **place), counts


def _feed_forward(x: Tensor, scale: Tensor, counts: Tensor, layers: tuple[_Layer, _Layer], kind: Any) -> Tensor:
    (first, scale1), (second, scale2) = layers
    grouped: dict[str, Any] = {"group_list": counts, "group_type": 0, "group_list_type": 1}
    if x.dtype != torch.int8:
        (y,) = npu_grouped_matmul([x], first, **grouped, split_item=3, output_dtype=kind)
        return npu_grouped_matmul([npu_swiglu(y)], second, **grouped, split_item=2, output_dtype=kind)[0]
    (y,) = npu_grouped_matmul([x], first, **grouped, split_item=3, output_dtype=torch.int32)
    y, token = npu_dequant_swiglu_quant(
        y, weight_scale=_scales(scale1), activation_scale=scale, group_index=counts, activate_left=True, quant_mode=1
    )
    return npu_grouped_matmul(
        [y], second, **grouped, scale=[_scales(scale2)], per_token_scale=[token], split_item=2, output_dtype=kind
    )[0]


def _scales(given: _Tensors) -> Tensor:
    """(experts, columns), in float32; 64 bits hold a float32."""
    return torch.cat([unpack_scale(one).float().reshape(-1, one.shape[-1]) for one in given])
