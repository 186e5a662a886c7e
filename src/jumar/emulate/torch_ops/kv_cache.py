"""Key-value caches: norm and rotation on the way in, pages, quantised entries, gathering back."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from jumar.emulate.formulas.norm import rms_norm
from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.integers import to_integers
from jumar.emulate.torch_ops.registry import not_emulated, operator
from jumar.emulate.torch_ops.rotary import npu_interleave_rope
from jumar.emulate.torch_ops.scatter import scatter_update_


def _kv_rows(
    kv: Tensor,
    gamma: Tensor,
    cos: Tensor,
    sin: Tensor,
    v: Tensor | None,
    epsilon: float,
) -> tuple[Tensor, Tensor]:
    """The rotated key and the normed latent (without v), or the normed and partly rotated key and v."""
    size = cos.shape[-1]
    if v is None:
        latent, key = wide(kv).split([gamma.shape[-1], kv.shape[-1] - gamma.shape[-1]], -1)
        return npu_interleave_rope(key, cos, sin), rms_norm(latent, wide(gamma), epsilon)[0]
    normed = rms_norm(wide(kv), wide(gamma), epsilon)[0]
    turned = npu_interleave_rope(normed[..., :size].contiguous(), cos, sin)
    return torch.cat([turned, normed[..., size:]], -1), wide(v)


def _store(cache: Tensor, rows: Tensor, index: Tensor, mode: str) -> None:
    """Puts (batch, heads, positions, size) into a cache; places below zero are left out."""
    batch, heads, count, size = rows.shape
    if mode == "Norm":
        for b in range(batch):
            for s in range(count):
                place = int(index[b, s])
                if place >= 0:
                    cache[b, :, place] = rows[b, :, s].to(cache.dtype)
        return
    block = cache.shape[1]
    places = _places(index.reshape(-1).long(), batch, count, block, "BLK" in mode)
    flat = rows.permute(0, 2, 1, 3).reshape(batch * count, heads, size).to(cache.dtype)
    kept = places >= 0
    if mode.endswith("NZ"):
        width = 32 // cache.element_size()
        tiled = cache.view(cache.shape[0], heads, size // width, block, width)
        page, slot = places[kept] // block, places[kept] % block
        tiled[page, :, :, slot] = flat[kept].unflatten(-1, (-1, width))
    else:
        cache.view(-1, heads, size)[places[kept]] = flat[kept]


def _places(index: Tensor, batch: int, count: int, block: int, by_block: bool) -> Tensor:
    if not by_block:
        return index
    pages = index.view(batch, -1)
    position = torch.arange(count)
    start = pages[:, position // block]
    return torch.where(start < 0, start, start // block * block + position % block).reshape(-1)


def _scaled(rows: Tensor, scale: Tensor | None, offset: Tensor | None) -> Tensor:
    if scale is None:
        return rows
    y = rows * wide(scale).reshape(-1)
    return to_integers(y if offset is None else y + wide(offset).reshape(-1), torch.int8)


@operator("npu_kv_rmsnorm_rope_cache_v2")
def npu_kv_rmsnorm_rope_cache_v2(
    kv: Tensor,
    gamma: Tensor,
    cos: Tensor,
    sin: Tensor,
    index: Tensor,
    k_cache: Tensor,
    ckv_cache: Tensor,
    *,
    k_rope_scale: Tensor | None = None,
    c_kv_scale: Tensor | None = None,
    k_rope_offset: Tensor | None = None,
    c_kv_offset: Tensor | None = None,
    v: Tensor | None = None,
    epsilon: float = 1e-5,
    cache_mode: str = "Norm",
    is_output_kv: bool = False,
    k_cache_dtype: int | None = None,
    ckv_cache_dtype: int | None = None,
) -> tuple[Tensor, Tensor]:
    key, latent = _kv_rows(kv, gamma, cos, sin, v, epsilon)
    _store(k_cache, _scaled(key, k_rope_scale, k_rope_offset), index, cache_mode)
    _store(ckv_cache, _scaled(latent, c_kv_scale, c_kv_offset), index, cache_mode)
    return key.to(kv.dtype), latent.to(kv.dtype)


@operator()
def npu_kv_rmsnorm_rope_cache(
    kv: Tensor,
    gamma: Tensor,
    cos: Tensor,
    sin: Tensor,
    index: Tensor,
    k_cache: Tensor,
    ckv_cache: Tensor,
    **others: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    # The caches are written to, although the schema does not say so.
    key, latent = npu_kv_rmsnorm_rope_cache_v2(kv, gamma, cos, sin, index, k_cache, ckv_cache, **others)
    return k_cache, ckv_cache, key, latent


@operator()
def npu_kv_rmsnorm_rope_cache_v2_functional(
    kv: Tensor,
    gamma: Tensor,
    cos: Tensor,
    sin: Tensor,
    index: Tensor,
    k_cache: Tensor,
    ckv_cache: Tensor,
    **others: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    caches = k_cache.clone(), ckv_cache.clone()
    return npu_kv_rmsnorm_rope_cache(kv, gamma, cos, sin, index, *caches, **others)


@operator()
def npu_quant_scatter(
    input: Tensor,
    indices: Tensor,
    updates: Tensor,
    quant_scales: Tensor,
    quant_zero_points: Tensor | None = None,
    axis: int = -2,
    quant_axis: int = -1,
    reduce: str = "update",
    dst_type: int | None = None,
    round_mode: str | None = "rint",
) -> Tensor:
    y = wide(updates) / wide(quant_scales).reshape(-1)
    y = y if quant_zero_points is None else y + wide(quant_zero_points).reshape(-1)
    return scatter_update_(input.clone(), indices, to_integers(y, input.dtype), axis)


@operator("npu_scatter_pa_kv_cache")
def npu_scatter_pa_kv_cache(
    key: Tensor,
    value: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    slot_mapping: Tensor,
    *,
    compress_lens: Tensor | None = None,
    compress_seq_offsets: Tensor | None = None,
    seq_lens: Tensor | None = None,
    cache_mode: str | None = "PA_NZ",
) -> None:
    if compress_lens is not None:
        raise not_emulated("npu_scatter_pa_kv_cache", "with `compress_lens`")
    for rows, cache in ((key, key_cache), (value, value_cache)):
        _scatter_rows(rows, cache, slot_mapping.reshape(-1).long(), cache_mode)


def _scatter_rows(rows: Tensor, cache: Tensor, places: Tensor, mode: str | None) -> None:
    flat = rows.reshape(rows.shape[0], -1)
    kept = places >= 0
    if mode == "PA_NZ" and cache.dim() == 4 and cache.shape[-1] in (16, 32):
        # (blocks, heads * size / 16, block, 16)
        block = cache.shape[2]
        cache[places[kept] // block, :, places[kept] % block] = flat[kept].unflatten(-1, (cache.shape[1], -1))
        return
    cache.view(-1, flat.shape[1])[places[kept]] = flat[kept].to(cache.dtype)


@operator("npu_scatter_pa_kv_cache_functional")
def npu_scatter_pa_kv_cache_functional(
    key: Tensor, value: Tensor, key_cache: Tensor, value_cache: Tensor, slot_mapping: Tensor, **others: Any
) -> tuple[Tensor, Tensor]:
    caches = key_cache.clone(), value_cache.clone()
    npu_scatter_pa_kv_cache(key, value, *caches, slot_mapping, **others)
    return caches


@operator("npu_scatter_pa_cache.value")
def npu_scatter_pa_cache(
    key: Tensor,
    slot_mapping: Tensor,
    *,
    compress_lens: Tensor | None = None,
    compress_seq_offsets: Tensor | None = None,
    seq_lens: Tensor | None = None,
    key_cache: Tensor,
) -> Tensor:
    if compress_lens is not None:
        raise not_emulated("npu_scatter_pa_cache", "with `compress_lens`")
    _scatter_rows(key, key_cache, slot_mapping.reshape(-1).long(), None)
    return key_cache


@operator()
def npu_gather_pa_kv_cache(
    key_cache: Tensor,
    value_cache: Tensor,
    block_tables: Tensor,
    seq_lens: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    seq_offset: Tensor | None = None,
    is_seq_lens_cumsum: bool = False,
) -> None:
    lengths = torch.diff(seq_lens.long()) if is_seq_lens_cumsum else seq_lens.long()
    for cache, target in ((key_cache, key), (value_cache, value)):
        size = cache.shape[1]
        starts = torch.zeros_like(lengths) if seq_offset is None else seq_offset.long() // size
        parts = [
            cache[row[start:].long()[: -(-length // size)]].flatten(0, 1)[:length]
            for row, start, length in zip(block_tables, starts.tolist(), lengths.tolist())
        ]
        rows = torch.cat(parts)
        target[: len(rows)] = rows.reshape(-1, *target.shape[1:])


@operator()
def npu_gather_pa_kv_cache_functional(
    key_cache: Tensor,
    value_cache: Tensor,
    block_tables: Tensor,
    seq_lens: Tensor,
    key: Tensor,
    value: Tensor,
    **others: Any,
) -> tuple[Tensor, Tensor]:
    targets = key.clone(), value.clone()
    npu_gather_pa_kv_cache(key_cache, value_cache, block_tables, seq_lens, *targets, **others)
    return targets
