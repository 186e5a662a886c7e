"""Mixture of experts: ordering tokens by expert and putting them back, with and without a routing map.

Indices say where each (token, choice) went: sorted_indices = argsort(argsort(indices)).
"""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.registry import operator


@operator()
def npu_moe_token_permute(
    tokens: Tensor, indices: Tensor, num_out_tokens: int | None = None, padded_mode: bool = False
) -> tuple[Tensor, Tensor]:
    if padded_mode:
        return tokens.index_select(0, indices.reshape(-1).long()), indices.reshape(-1).int()
    choices = 1 if indices.dim() == 1 else indices.shape[1]
    order = torch.argsort(indices.reshape(-1), stable=True)
    places = torch.argsort(order, stable=True).int()
    count = order.numel()
    if num_out_tokens:
        count = min(num_out_tokens, count) if num_out_tokens > 0 else max(0, count + num_out_tokens)
    return tokens.index_select(0, order[:count] // choices), places


@operator()
def npu_moe_token_permute_grad(
    tokens: Tensor,
    grad_permuted_tokens: Tensor,
    indices: Tensor,
    sorted_indices: Tensor,
    padded_mode: bool = False,
) -> Tensor:
    choices = 1 if indices.dim() == 1 else indices.shape[1]
    return npu_moe_token_permute_grad_v2(
        grad_permuted_tokens, sorted_indices, tokens.shape[0], tokens.dtype, choices, padded_mode
    )


@operator()
def npu_moe_token_permute_grad_v2(
    grad_permuted_tokens: Tensor,
    sorted_indices: Tensor,
    tokens_size_0: int,
    tokens_dtype: torch.dtype,
    num_topK: int,
    padded_mode: bool = False,
) -> Tensor:
    grad = wide(grad_permuted_tokens)
    if padded_mode:
        out = grad.new_zeros(tokens_size_0, grad.shape[1])
        return out.index_add_(0, sorted_indices.long(), grad).to(tokens_dtype)
    return _gathered(grad, sorted_indices).unflatten(0, (tokens_size_0, num_topK)).sum(1).to(tokens_dtype)


def _gathered(rows: Tensor, places: Tensor) -> Tensor:
    """The row of each place; zero for choices that were dropped."""
    index = places.long()
    present = (index >= 0) & (index < rows.shape[0])
    return rows[index.clamp(0, max(rows.shape[0] - 1, 0))] * present.unsqueeze(-1)


@operator()
def _npu_moe_token_unpermute(
    permuted_tokens: Tensor,
    sorted_indices: Tensor,
    probs: Tensor | None = None,
    padded_mode: bool = False,
    restore_shape: list[int] | None = None,
) -> tuple[Tensor, Tensor]:
    rows = wide(permuted_tokens)
    if padded_mode:
        if probs is not None:
            rows = rows * wide(probs).reshape(-1, 1)
        out = rows.new_zeros(restore_shape or rows.shape).index_add_(0, sorted_indices.reshape(-1).long(), rows)
        return out.to(permuted_tokens.dtype), permuted_tokens
    choices = 1 if probs is None else probs.shape[1]
    parts = _gathered(rows, sorted_indices).unflatten(0, (-1, choices))
    if probs is not None:
        parts = parts * wide(probs).unsqueeze(-1)
    return parts.sum(1).to(permuted_tokens.dtype), permuted_tokens


@operator()
def npu_moe_token_unpermute(
    permuted_tokens: Tensor,
    sorted_indices: Tensor,
    probs: Tensor | None = None,
    padded_mode: bool = False,
    restore_shape: list[int] | None = None,
) -> Tensor:
    """In releases of torch_npu that have no operator below it, such as 2.9."""
    return _npu_moe_token_unpermute(permuted_tokens, sorted_indices, probs, padded_mode, restore_shape)[0]


@operator()
def npu_moe_token_unpermute_grad(
    permuted_tokens: Tensor,
    grad_unpermuted_tokens: Tensor,
    sorted_indices: Tensor,
    probs: Tensor | None = None,
    padded_mode: bool = False,
    restore_shape: list[int] | None = None,
) -> tuple[Tensor, Tensor | None]:
    return npu_moe_token_unpermute_grad_v2(
        grad_unpermuted_tokens,
        sorted_indices,
        permuted_tokens.shape[0],
        permuted_tokens.dtype,
        probs,
        padded_mode,
        restore_shape,
        permuted_tokens,
    )


@operator()
def npu_moe_token_unpermute_grad_v2(
    grad_unpermuted_tokens: Tensor,
    sorted_indices: Tensor,
    permuted_tokens_size_0: int,
    permuted_tokens_dtype: torch.dtype,
    probs: Tensor | None = None,
    padded_mode: bool = False,
    restore_shape: list[int] | None = None,
    permuted_tokens: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    grad = wide(grad_unpermuted_tokens)
    index = sorted_indices.reshape(-1).long()
    if padded_mode:
        rows = grad[index]
        dprobs = None
        if probs is not None and permuted_tokens is not None:
            dprobs = (rows * wide(permuted_tokens)).sum(-1).view(probs.shape).to(probs.dtype)
            rows = rows * wide(probs).reshape(-1, 1)
        return rows.to(permuted_tokens_dtype), dprobs
    choices = 1 if probs is None else probs.shape[1]
    rows = grad.repeat_interleave(choices, 0)
    dprobs = None
    if probs is not None and permuted_tokens is not None:
        dprobs = (rows * _gathered(wide(permuted_tokens), index)).sum(-1).view(probs.shape).to(probs.dtype)
        rows = rows * wide(probs).reshape(-1, 1)
    out = rows.new_zeros(permuted_tokens_size_0, rows.shape[1])
    kept = (index >= 0) & (index < permuted_tokens_size_0)
    return out.index_copy_(0, index[kept], rows[kept]).to(permuted_tokens_dtype), dprobs


@operator()
def npu_moe_token_permute_with_routing_map(
    tokens: Tensor,
    routing_map: Tensor,
    *,
    probs: Tensor | None = None,
    num_out_tokens: int | None = None,
    drop_and_pad: bool = False,
) -> tuple[Tensor, Tensor | None, Tensor]:
    count, experts = routing_map.shape
    by_expert = routing_map.t()
    if drop_and_pad:
        capacity = (num_out_tokens or 0) // experts
        order = by_expert.to(torch.int8).sort(dim=-1, descending=True, stable=True)[1][:, :capacity]
        owners = order.reshape(-1)
        chosen = None if probs is None else probs.t().gather(1, order).reshape(-1)
        return tokens.index_select(0, owners), chosen, owners.int()
    owners = torch.arange(count).expand(experts, -1).masked_select(by_expert.bool())
    chosen = None if probs is None else probs.t().masked_select(by_expert.bool())
    return tokens.index_select(0, owners), chosen, torch.argsort(owners, stable=True).int()


@operator()
def npu_moe_token_permute_with_routing_map_grad(
    permuted_token_out_grad: Tensor,
    probs_grad: Tensor | None,
    sorted_indices: Tensor,
    routing_map: Tensor,
    experts_num: int,
    tokens_num: int,
    drop_and_pad: bool,
) -> tuple[Tensor, Tensor | None]:
    grad = wide(permuted_token_out_grad)
    owners = sorted_indices.long()
    by_expert = routing_map.t().bool()
    if not drop_and_pad:
        owners = torch.arange(tokens_num).expand(experts_num, -1).masked_select(by_expert)
    out = grad.new_zeros(tokens_num, grad.shape[1]).index_add_(0, owners, grad)
    dprobs = None
    if probs_grad is not None:
        flat = torch.zeros(experts_num, tokens_num, dtype=probs_grad.dtype)
        if drop_and_pad:
            flat.scatter_(1, owners.view(experts_num, -1), probs_grad.view(experts_num, -1))
        else:
            flat.masked_scatter_(by_expert, probs_grad)
        dprobs = flat.t().contiguous()
    return out.to(permuted_token_out_grad.dtype), dprobs


@operator()
def _npu_moe_token_unpermute_with_routing_map(
    permuted_tokens: Tensor,
    sorted_indices: Tensor,
    restore_shape: list[int],
    *,
    probs: Tensor | None = None,
    routing_map: Tensor | None = None,
    drop_and_pad: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    rows = wide(permuted_tokens)
    index = sorted_indices.long()
    if drop_and_pad:
        chosen = None
        if probs is not None:
            experts = probs.shape[1]
            chosen = wide(probs).t().gather(1, index.view(experts, -1)).reshape(-1)
            rows = rows * chosen.unsqueeze(-1)
        owners, places = index.sort(stable=True)
        out = rows.new_zeros(restore_shape).index_add_(0, index, rows)
        chosen = None if chosen is None or probs is None else chosen.to(probs.dtype)
        return out.to(permuted_tokens.dtype), places.int(), owners.int(), chosen
    tokens = restore_shape[0]
    parts = rows[index]
    chosen = None
    if probs is not None and routing_map is not None:
        chosen = wide(probs).masked_select(routing_map.bool())
        parts = parts * chosen.unsqueeze(-1)
        chosen = chosen.to(probs.dtype)
    owners = _owners(routing_map, index.numel(), tokens)
    out = rows.new_zeros(restore_shape).index_add_(0, owners, parts)
    return out.to(permuted_tokens.dtype), sorted_indices.int(), owners.int(), chosen


def _owners(routing_map: Tensor | None, count: int, tokens: int) -> Tensor:
    if routing_map is None:
        return torch.arange(tokens).repeat_interleave(count // tokens)
    return torch.arange(tokens).unsqueeze(1).expand(routing_map.shape).masked_select(routing_map.bool())


@operator()
def npu_moe_token_unpermute_with_routing_map_grad(
    unpermuted_tokens_grad: Tensor,
    out_index: Tensor,
    permuted_token_id: Tensor,
    routing_map: Tensor | None,
    permuted_tokens: Tensor | None,
    probs: Tensor | None,
    drop_and_pad: bool,
    restore_shape: list[int],
) -> tuple[Tensor, Tensor | None]:
    grad = wide(unpermuted_tokens_grad)
    places = out_index.long()
    tokens = restore_shape[0]
    owners = permuted_token_id.long() if drop_and_pad else _owners(routing_map, places.numel(), tokens)
    rows = grad[owners]
    dprobs = None
    if probs is not None and permuted_tokens is not None:
        products = (rows * wide(permuted_tokens)[places]).sum(-1)
        if drop_and_pad:
            experts = probs.shape[1]
            expert = places // (places.numel() // experts)
        elif routing_map is not None:
            expert = torch.arange(probs.shape[1]).expand(routing_map.shape).masked_select(routing_map.bool())
        dprobs = torch.zeros(probs.shape, dtype=products.dtype)
        dprobs.index_put_((owners, expert), products, accumulate=True)
        dprobs = dprobs.to(probs.dtype)
        rows = rows * wide(probs)[owners, expert].unsqueeze(-1)
    out = torch.zeros_like(rows).index_copy_(0, places, rows)
    return out.to(unpermuted_tokens_grad.dtype), dprobs
