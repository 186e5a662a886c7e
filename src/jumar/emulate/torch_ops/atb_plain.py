"""Operators of the ATB library around attention: caches, rotation, quantisation, products, the choice of experts.

Ascend/op-plugin op_plugin/ops/atb and op_plugin/python/atb/_atb_api_docs.py.
"""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.formulas.norm import rms_norm
from jumar.emulate.formulas.rotary import rotate
from jumar.emulate.torch_ops.atb_attention import mode, page_rows
from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.integers import to_integers
from jumar.emulate.torch_ops.registry import not_emulated, operator

_MOST_DIMENSIONS = 8


@operator("atb::_npu_reshape_and_cache")
def reshape_and_cache(key: Tensor, value: Tensor, key_cache: Tensor, value_cache: Tensor, slot_indices: Tensor) -> None:
    store(key, key_cache, slot_indices)
    store(value, value_cache, slot_indices)


@operator("atb::_npu_reshape_and_cache_siso")
def reshape_and_cache_siso(key: Tensor, key_cache: Tensor, slot_indices: Tensor) -> None:
    store(key, key_cache, slot_indices)


def store(rows: Tensor, cache: Tensor, slots: Tensor) -> None:
    """Rows of (tokens, heads, size) to their places in (pages, rows, heads, size) or in tiles (pages, …, rows, 16)."""
    flat = rows.reshape(rows.shape[0], -1).to(cache.dtype)
    places = slots.flatten().long()
    kept = places >= 0
    if cache[0, 0].numel() == flat.shape[1]:
        size = cache.shape[1]
        cache[places[kept] // size, places[kept] % size] = flat[kept].reshape(-1, *cache.shape[2:])
        return
    size = cache.shape[2]
    cache[places[kept] // size, :, places[kept] % size] = flat[kept].unflatten(-1, (cache.shape[1], -1))


@operator("atb::npu_paged_cache_load")
def paged_cache_load(
    key_cache: Tensor,
    value_cache: Tensor,
    block_table: Tensor,
    context_lens: Tensor,
    *,
    seq_starts: Tensor | None = None,
    cumsum: bool = False,
) -> tuple[Tensor, Tensor]:
    lengths = torch.diff(context_lens.long()) if cumsum else context_lens.long()
    if bool((lengths < 0).any()):
        raise RuntimeError("Invalid context_lens: negative value encountered")
    size = key_cache.shape[1]
    starts = [0] * len(lengths) if seq_starts is None else (seq_starts.long() // size).tolist()
    found = []
    for cache in (key_cache, value_cache):
        parts = [
            page_rows(cache, row[start:], length, cache.shape[2])
            for row, start, length in zip(block_table, starts, lengths.tolist())
        ]
        found.append(torch.cat(parts))
    return found[0], found[1]


@operator("atb::_npu_rotary_embedding")
def rotary_embedding(
    positions: Tensor, query: Tensor, key: Tensor, head_size: int, cos_sin_cache: Tensor, is_neox_style: bool
) -> None:
    cos, sin = wide(cos_sin_cache)[positions.flatten().long()].chunk(2, -1)
    kind = "half" if is_neox_style else "interleave"
    spread = [torch.cat([t, t], -1) if is_neox_style else t.repeat_interleave(2, -1) for t in (cos, sin)]
    cos, sin = (t.unsqueeze(1) for t in spread)
    for x in (query, key):
        heads = wide(x).reshape(cos.shape[0], -1, head_size)
        part, rest = heads[..., : cos.shape[-1]], heads[..., cos.shape[-1] :]
        turned = rotate(part, cos, sin, kind)
        x.copy_(torch.cat([turned, rest], -1).reshape(x.shape))


@operator("atb::_npu_quantize_per_tensor")
def quantize_per_tensor(x: Tensor, scale: Tensor, zero_point: Tensor, y: Tensor) -> None:
    for tensor in (x, scale, zero_point, y):
        if tensor.dim() > _MOST_DIMENSIONS:
            raise RuntimeError(f"ATB tensor supports at most {_MOST_DIMENSIONS} dimensions, but got {tensor.dim()}")
    steps = (wide(x) / wide(scale)).round()
    y.copy_(to_integers(steps if zero_point.numel() == 0 else steps + wide(zero_point), torch.int8).reshape(y.shape))


@operator("atb::_npu_quant_rms_norm")
def quant_rms_norm(
    self: Tensor, gamma: Tensor, beta: Tensor, scale: Tensor, offset: Tensor, output: Tensor, eps: float = 1e-5
) -> None:
    y = rms_norm(wide(self), wide(gamma), eps)[0] + wide(beta)
    output.copy_(to_integers(y / wide(scale) + wide(offset), torch.int8).reshape(output.shape))


@operator("atb::_npu_matmul_add_fp32")
def matmul_add_fp32(x: Tensor, weight: Tensor, C: Tensor) -> None:
    C.add_(wide(x).mT @ wide(weight))


@operator("atb::_npu_group_topk")
def group_topk(self: Tensor, k: int = 0, group_num: int = 1, n: int = 1) -> None:
    """Only the values of the best `k` groups stay; a group counts by the sum of its `n` largest."""
    groups = self.unflatten(-1, (group_num, -1))
    groups.masked_fill_(~best_groups(wide(groups), k, n).unsqueeze(-1), 0)


def best_groups(groups: Tensor, k: int, n: int) -> Tensor:
    """True for the best `k` of (tokens, groups, values); the earlier one of equals."""
    worth = groups.topk(n, -1).values.sum(-1)
    order = worth.argsort(dim=-1, descending=True, stable=True)[:, :k]
    return torch.zeros(worth.shape, dtype=torch.bool).scatter_(-1, order, True)


@operator("atb::npu_fused_add_topk_div")
def fused_add_topk_div(
    x: Tensor,
    add_num: Tensor,
    *,
    mapping_num: Tensor | None = None,
    mapping_table: Tensor | None = None,
    activation_type: str | None = None,
    group_num: int = 1,
    group_topk: int = 1,
    n: int = 1,
    k: int = 1,
    is_norm: bool = True,
    scale: float = 1.0,
    enable_expert_mapping: bool = False,
) -> tuple[Tensor, Tensor]:
    mode({"activation_sigmoid": 8}, activation_type, "activation_sigmoid", "activation_type")
    if enable_expert_mapping:
        raise not_emulated("atb::npu_fused_add_topk_div", "with `enable_expert_mapping`, which draws by a hidden rule,")
    weights = wide(x).sigmoid()
    worth = weights + wide(add_num)
    groups = worth.unflatten(-1, (group_num, -1))
    kept = groups.masked_fill(~best_groups(groups, group_topk, n).unsqueeze(-1), 0).flatten(-2)
    indices = kept.argsort(dim=-1, descending=True, stable=True)[:, :k]
    y = weights.gather(-1, indices)
    y = y / y.sum(-1, keepdim=True) * scale if is_norm else y
    return y.float(), indices.to(torch.int32)
