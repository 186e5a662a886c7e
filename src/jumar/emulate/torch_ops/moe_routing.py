"""Mixture of experts: gating, routing tables, counting tokens, joining the experts' results."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from jumar.emulate.formulas.quantize import by_rows
from jumar.emulate.torch_ops.formula import gradients, wide
from jumar.emulate.torch_ops.integers import to_integers
from jumar.emulate.torch_ops.registry import not_emulated, operator


@operator()
def npu_moe_gating_top_k_softmax(
    x: Tensor, finished: Tensor | None = None, k: int = 1
) -> tuple[Tensor, Tensor, Tensor]:
    values, experts = _largest(torch.softmax(wide(x), -1), k)
    experts = experts.int()
    if finished is not None:
        experts = experts.masked_fill(finished.bool().unsqueeze(-1), x.shape[-1])
    rows = torch.arange(experts.numel(), dtype=torch.int32).view(k, -1).t().contiguous()
    return values.to(x.dtype), experts, rows.view(experts.shape)


@operator()
def npu_moe_gating_top_k_softmax_v2(
    x: Tensor,
    *,
    k: int = 1,
    finished: Tensor | None = None,
    renorm: int | None = 0,
    output_softmax: bool | None = False,
) -> tuple[Tensor, Tensor, Tensor]:
    scores = wide(x)
    if renorm:
        top, experts = _largest(scores, k)
        values = torch.softmax(top, -1)
        softmax = torch.empty(0)
    else:
        probabilities = torch.softmax(scores, -1)
        values, experts = _largest(probabilities, k)
        softmax = probabilities.float() if output_softmax else torch.empty(0)
    experts = experts.int()
    if finished is not None:
        experts = experts.masked_fill(finished.bool().unsqueeze(-1), x.shape[-1])
    return values.to(x.dtype), experts, softmax


def _largest(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    values, order = torch.sort(scores, dim=-1, descending=True, stable=True)
    return values[..., :k].contiguous(), order[..., :k].contiguous()


@operator()
def npu_moe_gating_top_k(
    x: Tensor,
    k: int,
    *,
    bias: Tensor | None = None,
    input_ids: Tensor | None = None,
    tid2eid: Tensor | None = None,
    k_group: int = 1,
    group_count: int = 1,
    group_select_mode: int = 0,
    renorm: int = 0,
    norm_type: int = 0,
    out_flag: bool = False,
    routed_scaling_factor: float = 1.0,
    eps: float = 1e-20,
) -> tuple[Tensor, Tensor, Tensor]:
    """Chooses groups by their best score (mode 0) or the sum of two (mode 1), then experts in them."""
    original = _normed(wide(x), norm_type)
    scores = original if bias is None else original + wide(bias)
    if input_ids is not None and tid2eid is not None:
        experts = tid2eid[input_ids.long()].long()[..., :k]
    else:
        if group_count > 1:
            groups = scores.unflatten(-1, (group_count, -1))
            rank = groups.amax(-1) if group_select_mode == 0 else groups.topk(2, -1)[0].sum(-1)
            chosen = torch.argsort(rank, dim=-1, descending=True, stable=True)[..., :k_group]
            hidden = torch.ones_like(rank, dtype=torch.bool).scatter_(-1, chosen, False)
            scores = groups.masked_fill(hidden.unsqueeze(-1), float("-inf")).flatten(-2)
        experts = torch.argsort(scores, dim=-1, descending=True, stable=True)[..., :k]
    values = _weights(original.gather(-1, experts), renorm, norm_type, routed_scaling_factor, eps)
    out = original.float() if out_flag else torch.empty(0)
    return values.to(x.dtype), experts.int(), out


def _normed(x: Tensor, kind: int) -> Tensor:
    if kind == 0:
        return torch.softmax(x, -1)
    if kind == 2:
        return torch.nn.functional.softplus(x).sqrt()
    return torch.sigmoid(x)


def _weights(values: Tensor, renorm: int, norm_type: int, factor: float, eps: float) -> Tensor:
    if norm_type != 0 or renorm:
        values = values / (values.sum(-1, keepdim=True) + eps)
    return values * factor


@operator()
def npu_moe_gating_top_k_backward(
    x_norm: Tensor,
    grad_y: Tensor,
    expertIdx: Tensor,
    *,
    renorm: int = 0,
    norm_type: int = 0,
    routed_scaling_factor: float = 1.0,
    eps: float = 1e-20,
) -> Tensor:
    """Takes the normalised scores (out_flag), from which the norm's derivative follows."""
    p = wide(x_norm)

    def chosen(scores: Tensor) -> Tensor:
        picked = scores.gather(-1, expertIdx.long())
        return _weights(picked, renorm, norm_type, routed_scaling_factor, eps)

    dp = gradients(chosen, [p], grad_y)[0]
    if norm_type == 0:
        dx = p * (dp - (dp * p).sum(-1, keepdim=True))
    elif norm_type == 1:
        dx = dp * p * (1 - p)
    else:
        raise not_emulated("npu_moe_gating_top_k_backward", f"with norm_type {norm_type}")
    return dx.to(grad_y.dtype)


@operator()
def npu_moe_compute_expert_tokens(sorted_expert_for_source_row: Tensor, num_expert: int) -> Tensor:
    experts = torch.arange(num_expert, dtype=sorted_expert_for_source_row.dtype)
    return torch.searchsorted(sorted_expert_for_source_row, experts, right=True).int()


@operator()
def npu_moe_init_routing(
    x: Tensor, row_idx: Tensor, expert_idx: Tensor, active_num: int
) -> tuple[Tensor, Tensor, Tensor]:
    rows, k = x.shape[0], expert_idx.shape[-1]
    experts, order = expert_idx.reshape(-1).sort(stable=True)
    sources = row_idx.reshape(-1)[order].long()
    places = torch.empty(sources.numel(), dtype=torch.int32)
    places[sources] = torch.arange(sources.numel(), dtype=torch.int32)
    count = min(active_num, rows) * k
    return x[sources[:count] % rows], places, experts


@operator()
def npu_moe_init_routing_v2(
    x: Tensor,
    expert_idx: Tensor,
    *,
    scale: Tensor | None = None,
    offset: Tensor | None = None,
    active_num: int = -1,
    expert_capacity: int = -1,
    expert_num: int = -1,
    drop_pad_mode: int = 0,
    expert_tokens_num_type: int = 0,
    expert_tokens_num_flag: bool = False,
    quant_mode: int = -1,
    active_expert_range: Sequence[int] = (),
    row_idx_type: int = 0,
    x_dtype: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    if quant_mode not in (-1, 0, 1) or x_dtype is not None:
        raise not_emulated("npu_moe_init_routing_v2", f"with quant_mode {quant_mode}")
    first, last = (active_expert_range or [0, expert_num])[:2]
    k = expert_idx.shape[-1]
    experts = expert_idx.reshape(-1).long()
    keyed = torch.where(experts < first, torch.full_like(experts, 2**31 - 1), experts)
    sorted_experts, order = keyed.sort(stable=True)
    active = int((sorted_experts < last).sum())
    counts = torch.bincount(sorted_experts[:active] - first, minlength=last - first)[: last - first]
    if drop_pad_mode == 1:
        slots = _padded_slots(sorted_experts, counts, expert_capacity, active)
        sources = torch.full((expert_num * expert_capacity,), -1, dtype=torch.int64)
        sources[slots[slots >= 0]] = order[:active][slots >= 0]
        places = torch.full((experts.numel(),), -1, dtype=torch.int32)
        places[order[:active][slots >= 0]] = slots[slots >= 0].int()
    else:
        slots = torch.arange(active)
        sources = order[:active]
        places = torch.full((experts.numel(),), -1, dtype=torch.int32)
        places[sources] = slots.int()
    length = x.shape[0] * k
    limit = min(active_num, length) if active_num > 0 and drop_pad_mode == 0 else sources.numel()
    total = sources.numel() if drop_pad_mode else (min(active_num, length) if active_num > 0 else length)
    chosen = sources[:limit]
    rows = x[(chosen.clamp(min=0)) // k] * (chosen >= 0).unsqueeze(-1)
    expert_of = experts[chosen.clamp(min=0)] - first
    out, scales = _quantised_rows(rows, scale, offset, quant_mode, expert_of, chosen // k)
    out = out * (chosen >= 0).unsqueeze(-1)  # an empty place is zero, not the offset
    missing = total - out.shape[0]
    if missing > 0:
        out = torch.cat([out, out.new_zeros(missing, out.shape[1])])
        scales = torch.nn.functional.pad(scales, (0, missing)) if scales.numel() else scales
    if drop_pad_mode == 1:
        out = out.view(expert_num, expert_capacity, -1)
    if row_idx_type == 1:
        places = order.int()
    tokens = counts.cumsum(0) if expert_tokens_num_type == 0 else counts
    if expert_tokens_num_type == 2:
        pairs = torch.zeros(expert_num, 2, dtype=torch.int64)
        present = counts.nonzero().reshape(-1)
        pairs[: present.numel()] = torch.stack([present + first, counts[present]], 1)
        tokens = pairs
    return out, places, tokens.long(), scales


def _padded_slots(experts: Tensor, counts: Tensor, capacity: int, active: int) -> Tensor:
    """The slot of each routed row when every expert has room for `capacity`; -1 where it is dropped."""
    starts = counts.cumsum(0) - counts
    own = experts[:active]
    position = torch.arange(active) - starts[own]
    return torch.where(position < capacity, own * capacity + position, torch.full_like(own, -1))


def _quantised_rows(
    rows: Tensor,
    scale: Tensor | None,
    offset: Tensor | None,
    mode: int,
    expert_of: Tensor,
    token_of: Tensor,
) -> tuple[Tensor, Tensor]:
    if mode == -1:
        return rows, torch.empty(0) if scale is None else scale.float()[token_of.clamp(min=0)]
    values = wide(rows)
    if mode == 0:
        assert scale is not None
        y = values * (scale.float() if scale.numel() == 1 else scale.float()[expert_of])
        if offset is not None:
            y = y + (offset.float() if offset.numel() == 1 else offset.float()[expert_of])
        return to_integers(y, torch.int8), torch.empty(0)
    if scale is not None and rows.shape[0]:
        values = values * (scale.float() if scale.shape[0] == 1 else scale.float()[expert_of])
    steps, scales = by_rows(values)
    return to_integers(steps, torch.int8), scales.squeeze(-1)


@operator()
def npu_moe_init_routing_quant(
    x: Tensor,
    expert_idx: Tensor,
    *,
    scale: Tensor | None = None,
    offset: Tensor | None = None,
    active_num: int = 1024,
    expert_capacity: int = 0,
    expert_num: int = 256,
    drop_pad_mode: int = 0,
    expert_tokens_num_mode: int = 0,
    expert_tokens_before_capacity_flag: bool = False,
    quant_mode: int = 1,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    out, places, counts, scales = npu_moe_init_routing_v2(
        x,
        expert_idx,
        scale=scale,
        offset=offset,
        active_num=active_num or -1,
        expert_capacity=expert_capacity,
        expert_num=expert_num,
        drop_pad_mode=drop_pad_mode,
        expert_tokens_num_type=1,
        quant_mode=quant_mode,
    )
    # Mode 1 gives running totals, 2 counts, 0 nothing.
    tokens = counts.cumsum(0) if expert_tokens_num_mode == 1 else counts
    before = counts.int() if expert_tokens_before_capacity_flag else torch.empty(0, dtype=torch.int32)
    return out, places, tokens.int(), before, scales


@operator()
def npu_moe_finalize_routing(
    expanded_permuted_rows: Tensor,
    skip1: Tensor | None,
    skip2: Tensor | None,
    bias: Tensor | None,
    scales: Tensor | None,
    expanded_src_to_dst_row: Tensor,
    export_for_source_row: Tensor | None,
    drop_pad_mode: int | None = 0,
    k: int | None = 1,
) -> Tensor:
    """Each token: its skips plus the weighted rows of its experts; modes 2 and 3 have choices last."""
    rows = wide(expanded_permuted_rows).reshape(-1, expanded_permuted_rows.shape[-1])
    choices = k or 1
    if scales is not None:
        choices = scales.shape[1]
    elif export_for_source_row is not None:
        choices = export_for_source_row.shape[1]
    count = expanded_src_to_dst_row.numel() // choices
    index = expanded_src_to_dst_row.long()
    index = index.view(count, choices) if (drop_pad_mode or 0) >= 2 else index.view(choices, count).t()
    parts = rows[index.clamp(min=0)] * (index >= 0).unsqueeze(-1)
    if bias is not None and export_for_source_row is not None:
        parts = parts + wide(bias)[export_for_source_row.long()]
    if scales is not None:
        parts = parts * wide(scales).unsqueeze(-1)
    out = parts.sum(1)
    for skip in (skip1, skip2):
        if skip is not None:
            out = out + wide(skip)
    return out.to(expanded_permuted_rows.dtype)


@operator()
def npu_moe_re_routing(
    tokens: Tensor,
    expert_token_num_per_rank: Tensor,
    *,
    per_token_scales: Tensor | None = None,
    expert_token_num_type: int = 1,
    idx_type: int = 0,
    tokens_dtype: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """From (rank, expert) order to (expert, rank) order."""
    counts = expert_token_num_per_rank.long()
    ranks, experts = counts.shape
    starts = (counts.reshape(-1).cumsum(0) - counts.reshape(-1)).view(ranks, experts)
    order = torch.cat(
        [
            torch.arange(int(starts[r, e]), int(starts[r, e] + counts[r, e]))
            for e in range(experts)
            for r in range(ranks)
        ]
        or [torch.empty(0, dtype=torch.int64)]
    )
    index = order if idx_type == 0 else torch.argsort(order)
    scales = torch.empty(0) if per_token_scales is None else per_token_scales[order]
    totals = counts.sum(0)
    if expert_token_num_type == 0:
        totals = totals.cumsum(0)
    return tokens[order], scales, index.int(), totals.to(expert_token_num_per_rank.dtype)


@operator()
def npu_moe_update_expert(
    expert_ids: Tensor,
    eplb_table: Tensor,
    *,
    expert_scales: Tensor | None = None,
    pruning_threshold: Tensor | None = None,
    active_mask: Tensor | None = None,
    local_rank_id: int = -1,
    world_size: int = -1,
    balance_mode: int = 0,
) -> tuple[Tensor, Tensor]:
    """From logical experts to one of their copies, by the rank or by the token; weak choices are left out."""
    rows = eplb_table.long()[expert_ids.long()]
    copies = rows[..., 0]
    if balance_mode == 0:
        place = local_rank_id // torch.div(world_size + copies - 1, copies, rounding_mode="floor")
    else:
        place = torch.arange(expert_ids.shape[0]).unsqueeze(-1) % copies
    ids = rows.gather(-1, (place + 1).unsqueeze(-1)).squeeze(-1).to(expert_ids.dtype)
    if expert_scales is None or pruning_threshold is None:
        return ids, torch.ones(expert_ids.shape, dtype=torch.bool)
    weights = wide(expert_scales)
    kept = weights >= weights.sum(-1, keepdim=True) * pruning_threshold.reshape(1, -1)
    return ids, kept if active_mask is None else kept & active_mask.unsqueeze(-1)
