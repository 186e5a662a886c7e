"""What comes before multi-head latent attention (arXiv 2405.04434): projections, norms, rotation, and the caches.

Ascend/op-plugin docs/zh/custom_APIs/torch_npu/torch_npu-npu_mla_prolog.md. Both caches are written in place.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from jumar.emulate.ops.formula import wide
from jumar.emulate.ops.registry import not_emulated, operator


@operator()
def npu_mla_prolog(
    token_x: Tensor,
    weight_dq: Tensor,
    weight_uq_qr: Tensor,
    weight_uk: Tensor,
    weight_dkv_kr: Tensor,
    rmsnorm_gamma_cq: Tensor,
    rmsnorm_gamma_ckv: Tensor,
    rope_sin: Tensor,
    rope_cos: Tensor,
    cache_index: Tensor,
    kv_cache: Tensor,
    kr_cache: Tensor,
    *,
    rmsnorm_epsilon_cq: float = 1e-05,
    rmsnorm_epsilon_ckv: float = 1e-05,
    cache_mode: str = "PA_BSND",
    **scales: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    _check("npu_mla_prolog", weight_uq_qr, cache_mode, scales)
    x = wide(token_x)
    down = _normed(x @ wide(weight_dq), rmsnorm_gamma_cq, rmsnorm_epsilon_cq)
    heads, size, _ = weight_uk.shape
    up = (down @ wide(weight_uq_qr)).unflatten(-1, (heads, -1))
    query = torch.einsum("...hd,hdc->...hc", up[..., :size], wide(weight_uk))
    query_rope = _rotated(up[..., size:], rope_cos.unsqueeze(-2), rope_sin.unsqueeze(-2))
    both = x @ wide(weight_dkv_kr)
    latent = _normed(both[..., : weight_uk.shape[2]], rmsnorm_gamma_ckv, rmsnorm_epsilon_ckv)
    _store(kv_cache, cache_index, latent)
    _store(kr_cache, cache_index, _rotated(both[..., weight_uk.shape[2] :], rope_cos, rope_sin))
    return query.to(token_x.dtype), query_rope.to(token_x.dtype), kv_cache, kr_cache


@operator()
def npu_mla_prolog_v2(*arguments: Any, **named: Any) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    return *npu_mla_prolog(*arguments, **named), torch.zeros(1)


def _check(name: str, weight: Tensor, cache_mode: str, scales: dict[str, Any]) -> None:
    if cache_mode != "PA_BSND":
        raise not_emulated(f"{name} with `cache_mode` {cache_mode}")
    given = [key for key, value in scales.items() if value is not None]
    if given or not weight.is_floating_point():
        raise not_emulated(f"{name} with `{given[0] if given else 'int8 weights'}`")


def _normed(x: Tensor, gamma: Tensor, epsilon: float) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon) * wide(gamma)


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Pairs are neighbours on the way in and halves on the way out."""
    even, odd = x[..., ::2], x[..., 1::2]
    halves = torch.cat([even, odd], -1)
    return halves * wide(cos) + torch.cat([-odd, even], -1) * wide(sin)


def _store(cache: Tensor, index: Tensor, rows: Tensor) -> None:
    if cache.numel() == 0:
        return
    places = index.reshape(-1).long()
    slots = cache.view(-1, *cache.shape[2:])
    slots[places] = rows.reshape(len(places), 1, -1).expand(-1, *slots.shape[1:]).to(cache.dtype)
