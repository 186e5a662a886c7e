"""What comes before multi-head latent attention (arXiv 2405.04434): projections, norms, rotation, and the caches.

Ascend/op-plugin docs/zh/custom_APIs/torch_npu/torch_npu-npu_mla_prolog.md, …_v2.md and …_v3.md. Both caches are written
in place. Eight-bit integers are emulated, in the weights as in the caches; float8 and groups of a token are not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from jumar.emulate.formulas.norm import rms_norm
from jumar.emulate.formulas.quantize import by_rows, divide
from jumar.emulate.formulas.rotary import rotate
from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.integers import product, to_integers
from jumar.emulate.torch_ops.registry import not_emulated, operator

_SCALES = (
    "dequant_scale_x", "dequant_scale_w_dq", "dequant_scale_w_uq_qr", "dequant_scale_w_dkv_kr",
    "quant_scale_ckv", "quant_scale_ckr", "smooth_scales_cq",
)  # fmt: skip
_SLOT_MODES = ("PA_BSND", "BSND", "TND")


class Weights(NamedTuple):
    down: Tensor
    up: Tensor
    heads: Tensor
    latent: Tensor
    gamma_query: Tensor
    gamma_latent: Tensor


class Query(NamedTuple):
    plain: Tensor
    rotated: Tensor
    scale: Tensor  # of `plain` where that is quantised
    normed: Tensor
    normed_scale: Tensor


@operator()
def npu_mla_prolog(*arguments: Any, **options: Any) -> tuple[Tensor, ...]:
    """Arguments: token_x, the six weights, rope_sin, rope_cos, cache_index, kv_cache, kr_cache."""
    *_, index, kv_cache, kr_cache = arguments
    query = _prolog("npu_mla_prolog", (*arguments[:9], kv_cache, kr_cache), {**options, "cache_index": index})
    return query.plain, query.rotated, kv_cache, kr_cache


@operator()
def npu_mla_prolog_v2(*arguments: Any, **options: Any) -> tuple[Tensor, ...]:
    *_, index, kv_cache, kr_cache = arguments
    query = _prolog("npu_mla_prolog_v2", (*arguments[:9], kv_cache, kr_cache), {**options, "cache_index": index})
    return query.plain, query.rotated, kv_cache, kr_cache, query.scale


@operator()
def npu_mla_prolog_v3(*arguments: Any, query_norm_flag: bool = False, **options: Any) -> tuple[Tensor, ...]:
    query = _bfloat16(_prolog("npu_mla_prolog_v3", arguments, options))
    if not query_norm_flag:
        query = query._replace(normed=query.normed.new_empty(0), normed_scale=query.scale.new_empty(0))
    return tuple(query)


def _bfloat16(query: Query) -> Query:
    """torch_npu allocates the query as bfloat16 unless it is quantised (MlaPrologV3KernelNpuOpApi.cpp:179, 182)."""
    plain = query.plain.bfloat16() if query.plain.is_floating_point() else query.plain
    return query._replace(plain=plain, rotated=query.rotated.bfloat16())


@operator()
def npu_mla_prolog_v3_functional(*arguments: Any, **options: Any) -> tuple[Tensor, ...]:
    caches = tuple(cache.clone() for cache in arguments[9:11])
    return *npu_mla_prolog_v3(*arguments[:9], *caches, **options), *caches


def _prolog(name: str, tensors: tuple[Tensor, ...], options: dict[str, Any]) -> Query:
    x, weights, (sin, cos, kv_cache, kr_cache) = tensors[0], Weights(*tensors[1:7]), tensors[7:]
    _check(name, weights, options)
    scales = {name: options.get(name) for name in _SCALES}
    query = _query(x, weights, sin, cos, scales, options)
    latent_size = weights.heads.shape[2]
    both = _projected(x, weights.latent, scales["dequant_scale_x"], scales["dequant_scale_w_dkv_kr"])
    latent, _ = rms_norm(both[..., :latent_size], wide(weights.gamma_latent), options.get("rmsnorm_epsilon_ckv", 1e-5))
    latent = latent * options.get("kc_scale", 1.0)
    _store(kv_cache, options, _quantised(latent, scales["quant_scale_ckv"]))
    _store(kr_cache, options, _quantised(_rotated(both[..., latent_size:], cos, sin), scales["quant_scale_ckr"]))
    return query


def _query(
    x: Tensor, weights: Weights, sin: Tensor, cos: Tensor, scales: dict[str, Any], options: dict[str, Any]
) -> Query:
    kind = weights.heads.dtype
    nothing = torch.empty(0)
    normed, _ = rms_norm(
        _projected(x, weights.down, scales["dequant_scale_x"], scales["dequant_scale_w_dq"]),
        wide(weights.gamma_query),
        options.get("rmsnorm_epsilon_cq", 1e-5),
    )
    normed = normed * options.get("qc_qr_scale", 1.0)
    if weights.up.is_floating_point():
        up, normed, normed_scale = normed @ wide(weights.up), normed.to(weights.up.dtype), nothing
    else:
        smooth = scales["smooth_scales_cq"]
        normed, token_scale = _per_row(normed if smooth is None else normed * smooth)
        up = product(normed, weights.up).float() * token_scale * scales["dequant_scale_w_uq_qr"]
        normed_scale = token_scale.reshape(-1, 1)
    heads, size, _ = weights.heads.shape
    up = up.unflatten(-1, (heads, -1))
    plain = torch.einsum("...hd,hdc->...hc", wide(up[..., :size].to(kind)), wide(weights.heads)).to(kind)
    rotated = _rotated(up[..., size:], cos.unsqueeze(-2), sin.unsqueeze(-2)).to(kind)
    cache_scale = scales["quant_scale_ckv"]
    if x.is_floating_point() or cache_scale is None:
        return Query(plain, rotated, nothing, normed, normed_scale)
    # Scores are products with an eight-bit cache: one scale for both parts of the query.
    plain, head_scale = _per_row(wide(plain))
    rotated = divide(wide(rotated) * cache_scale, head_scale).to(kind)
    return Query(plain, rotated, head_scale.reshape(-1, heads, 1), normed, normed_scale)


def _check(name: str, weights: Weights, options: dict[str, Any]) -> None:
    mode = options.get("cache_mode", "PA_BSND")
    if mode not in _SLOT_MODES:
        raise not_emulated(name, f"with `cache_mode` {mode}")
    if options.get("kv_cache_quant_mode", 0) == 3:
        raise not_emulated(name, "with `kv_cache_quant_mode` 3")
    if any(w.dtype not in (torch.int8, torch.float16, torch.bfloat16, torch.float32) for w in weights):
        raise not_emulated(name, f"with weights of {weights.up.dtype}")


def _projected(x: Tensor, weight: Tensor, x_scale: Tensor | None, weight_scale: Tensor | None) -> Tensor:
    if weight.is_floating_point():
        return wide(x) @ wide(weight)
    rows = product(x, weight).float()
    if x_scale is not None:
        rows = rows * x_scale.reshape(*x.shape[:-1], 1)
    return rows if weight_scale is None else rows * weight_scale


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return rotate(x, wide(cos), wide(sin), "interleave-half")


def _per_row(x: Tensor) -> tuple[Tensor, Tensor]:
    steps, scale = by_rows(x)
    return to_integers(steps, torch.int8), scale


def _quantised(x: Tensor, scale: Tensor | None) -> Tensor:
    return x if scale is None else to_integers(x * scale, torch.int8)


def _store(cache: Tensor, options: dict[str, Any], rows: Tensor) -> None:
    if cache.numel() == 0:
        return
    rows = rows.flatten(0, -2)
    if options.get("cache_mode", "PA_BSND") != "PA_BSND":
        cache.copy_(rows.to(cache.dtype).view(cache.shape))
        return
    places = options["cache_index"].reshape(-1).long()
    slots = cache.view(-1, *cache.shape[2:])
    slots[places] = rows.unsqueeze(1).expand(-1, *slots.shape[1:]).to(cache.dtype)
