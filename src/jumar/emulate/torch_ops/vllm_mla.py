"""Latent attention of vllm-ascend: from the hidden state to the query, and to the key in its pages.

vllm-project/vllm-ascend csrc/mla_preprocess (v0.18.0): ATB's operator without the norm before it, with a form that is
not quantised, and with the latent query as a further result. Sizes are read from the tensors.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from jumar.emulate.formulas.norm import rms_norm
from jumar.emulate.formulas.quantize import divide, scale_of
from jumar.emulate.torch_ops.atb_attention import mode
from jumar.emulate.torch_ops.atb_mla import CACHES, rotated, unfolded
from jumar.emulate.torch_ops.atb_plain import store
from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.integers import product, to_integers, unpack_scale
from jumar.emulate.torch_ops.registry import not_emulated, operator

_QUANTISED = {"per_tensor_quant_asymm": 0, "per_token_quant_symm": 1, "per_token_quant_asymm": 2, "no_quant": 3}
_EPSILON = 1e-6
_TILES = {1: (0, 0), 2: (32, 16), 3: (16, 16)}
"""By the mode of the cache: columns of a tile of the latent key and of the turned one; 0 is a row as it is."""


class Product(NamedTuple):
    """A product, and how its left side becomes integers."""

    weight: Tensor
    descale: Tensor | None
    scale: Tensor | None
    offset: Tensor | None
    bias: Tensor | None
    quantised: int

    def of(self, x: Tensor, kind: torch.dtype) -> Tensor:
        """Rounded to `kind`, in float32."""
        weight = unfolded(self.weight)
        if self.quantised == 3 or self.descale is None:
            return wide((wide(x.to(kind)) @ wide(weight).mT).to(kind))
        token = scale_of(x) if self.quantised == 1 else torch.ones(len(x), 1)
        out = product(self._integers(x, token), weight.mT)
        out = out if self.bias is None or self.quantised == 1 else out + self.bias
        return wide((out.float() * unpack_scale(self.descale) * token).to(kind))

    def _integers(self, x: Tensor, token: Tensor) -> Tensor:
        if self.quantised == 1:
            return to_integers(divide(x, token), torch.int8)
        if self.scale is None or self.offset is None:
            raise RuntimeError("quant_mode per_tensor_quant_asymm needs quant_scale and quant_offset")
        return to_integers(x * (1 / wide(self.scale)) + wide(self.offset), torch.int8)


@operator("_C_ascend::mla_preprocess")
def mla_preprocess(
    hiddenState: Tensor,
    wdqkv: Tensor,
    descale0: Tensor | None,
    gamma1: Tensor,
    beta1: Tensor | None,
    wuq: Tensor,
    descale1: Tensor | None,
    gamma2: Tensor,
    cos: Tensor,
    sin: Tensor,
    wuk: Tensor,
    kv_cache: Tensor,
    kv_cache_rope: Tensor,
    slotmapping: Tensor,
    quant_scale0: Tensor | None,
    quant_offset0: Tensor | None,
    bias0: Tensor | None,
    quant_scale1: Tensor | None,
    quant_offset1: Tensor | None,
    bias1: Tensor | None,
    ctkv_scale: Tensor | None,
    q_nope_scale: Tensor | None,
    cache_mode: str | None,
    quant_mode: str | None,
    enable_inner_out: bool | None,
    q_out0: Tensor,
    kv_cache_out0: Tensor,
    q_out1: Tensor,
    kv_cache_out1: Tensor,
    inner_out: Tensor,
) -> tuple[Tensor, ...]:
    form = mode(CACHES, cache_mode, "krope_ctkv", "cache_mode")
    quantised = mode(_QUANTISED, quant_mode, "per_token_quant_symm", "quant_mode")
    if quantised == 2:
        raise not_emulated("mla_preprocess", "with quant_mode per_token_quant_asymm")
    down = Product(wdqkv, descale0, quant_scale0, quant_offset0, bias0, quantised)
    up = Product(wuq, descale1, quant_scale1, quant_offset1, bias1, quantised)
    latent, rope, query = _parts(down.of(wide(hiddenState), hiddenState.dtype), gamma2.numel(), cos.shape[-1])
    query = rms_norm(query, wide(gamma1), _EPSILON)[0]
    if beta1 is not None and quantised != 3:
        query = query + wide(beta1)
    if enable_inner_out:
        inner_out.copy_(query.reshape(inner_out.shape))
    angles = wide(cos), wide(sin)
    q, turned = _absorbed(up.of(query, hiddenState.dtype), wuk, angles)
    latent = rms_norm(latent, wide(gamma2), _EPSILON)[0]
    if form == 2 and ctkv_scale is not None and q_nope_scale is not None:
        q = to_integers(q / wide(q_nope_scale).reshape(-1, 1), torch.int8)
        latent = to_integers(latent / wide(ctkv_scale), torch.int8)
    q_out0.copy_(q.reshape(q_out0.shape))
    q_out1.copy_(turned.reshape(q_out1.shape))
    for rows, cache, tile in zip((latent, rotated(rope, *angles)), (kv_cache_out0, kv_cache_out1), _TILES[form]):
        store(rows, _in_tiles(cache, rows.shape[-1], tile), slotmapping)
    return tuple(one.clone() for one in (q_out0, kv_cache_out0, q_out1, kv_cache_out1, inner_out))


def _parts(mixed: Tensor, latent: int, rope: int) -> tuple[Tensor, ...]:
    """The latent key, the part of it that is turned, and the latent query."""
    parts: tuple[Tensor, ...] = mixed.split([latent, rope, mixed.shape[-1] - latent - rope], -1)
    return parts


def _absorbed(q: Tensor, wuk: Tensor, angles: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """(tokens, heads, latent) and (tokens, heads, turned)."""
    heads, plain = wuk.shape[:2]
    nope, rope = q.unflatten(-1, (heads, -1)).split([plain, angles[0].shape[-1]], -1)
    cos, sin = (one.unsqueeze(1) for one in angles)
    return torch.einsum("thd,hdl->thl", nope, wide(wuk)), rotated(rope, cos, sin)


def _in_tiles(cache: Tensor, columns: int, tile: int) -> Tensor:
    """The memory of pages of rows as pages of tiles, where the mode says so and the shape does not."""
    if not tile or cache[0, 0].numel() != columns:
        return cache
    return cache.view(cache.shape[0], columns // tile, cache.shape[1], tile)
