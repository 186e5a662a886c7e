"""Latent attention of the ATB library: over a cache in pages, over a ring of ranks, and the way into the cache.

Ascend/op-plugin op_plugin/ops/atb and op_plugin/python/atb/_atb_api_docs.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from jumar.emulate.formulas.norm import rms_norm
from jumar.emulate.formulas.quantize import by_rows
from jumar.emulate.formulas.rotary import rotate
from jumar.emulate.torch_ops.atb_attention import (
    CAUSAL,
    NORM,
    Mask,
    attention,
    attention_in_eight_bits,
    bias_of,
    mode,
    page_rows,
    per_head,
    pieces,
)
from jumar.emulate.torch_ops.atb_plain import store
from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.integers import product, to_integers, unpack_scale
from jumar.emulate.torch_ops.registry import not_emulated, operator

_MASKS = {"undefined": 0, "mask_type_norm": 1, "mask_type_alibi": 2, "mask_type_spec": 3, "mask_type_mask_free": 4}
CACHES = {"krope_ctkv": 1, "int8_nzcache": 2, "nzcache": 3}
_EPSILON = 1e-5
_LATENT, _ROPE, _NOPE = 512, 64, 128


def _latent_attention(
    q: tuple[Tensor, Tensor],
    cache: tuple[Tensor, Tensor],
    tables: Tensor,
    lengths: tuple[list[int], list[int]],
    heads: int,
    scale: float,
    mask: Mask,
    descales: tuple[Tensor | None, Tensor | None],
) -> tuple[Tensor, Tensor]:
    """(tokens, heads, 512) and the logarithms of the sums, (tokens, heads, 1)."""
    outs, sums = [], []
    for piece in pieces(*lengths):
        rows = slice(piece.first, piece.first + piece.queries)
        latent, rope = (page_rows(part, tables[piece.number], piece.keys, heads) for part in cache)
        if descales[0] is not None and descales[1] is not None:
            turned = per_head(q[1][rows], rope)
            factors = (descales[0], descales[1])
            out, lse = attention_in_eight_bits(q[0][rows], latent, latent, scale, factors, turned)
        else:
            joined = [torch.cat([wide(a), wide(b)], -1) for a, b in ((q[0][rows], q[1][rows]), (latent, rope))]
            out, lse = attention(joined[0], joined[1], latent, scale, bias_of(mask, piece))
        outs.append(out)
        sums.append(lse.mT.unsqueeze(-1))
    return torch.cat(outs), torch.cat(sums)


@operator("atb::npu_multi_head_latent_attention.lse")
def latent_attention_lse(
    q_nope: Tensor,
    q_rope: Tensor,
    ctkv: Tensor,
    k_rope: Tensor,
    block_tables: Tensor,
    context_lens: list[int],
    q_headnum: int,
    qk_scale: float,
    kv_headnum: int,
    return_lse: bool,
    *,
    mask: Tensor | None = None,
    qseqlen: list[int] | None = None,
    qk_descale: Tensor | None = None,
    pv_descale: Tensor | None = None,
    mask_type: str | None = None,
    calc_type: str | None = None,
    cache_mode: str | None = None,
    workspace: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    kind = mode(_MASKS, mask_type, "undefined", "mask_type")
    mode(CACHES, cache_mode, "krope_ctkv", "cache_mode")
    if kind not in (0, 1, 3):
        raise not_emulated("atb::npu_multi_head_latent_attention", f"with mask_type {mask_type}")
    keys = [int(n) for n in context_lens]
    queries = [int(n) for n in qseqlen] if qseqlen else [1] * len(keys)
    chosen = Mask(NORM, mask) if kind and mask is not None else Mask(CAUSAL if kind else 0)
    out, lse = _latent_attention(
        (q_nope, q_rope),
        (ctkv, k_rope),
        block_tables,
        (queries, keys),
        kv_headnum,
        qk_scale,
        chosen,
        (qk_descale, pv_descale),
    )
    return out.to(q_rope.dtype), lse.to(q_rope.dtype) if return_lse else torch.empty(0, dtype=q_rope.dtype)


@operator("atb::npu_multi_head_latent_attention")
def latent_attention(*args: Any, **kwargs: Any) -> Tensor:
    return latent_attention_lse(*(*args, False), **kwargs)[0]


@operator("atb::npu_multi_head_latent_attention.out")
def latent_attention_out(*args: Any, output: Tensor, **kwargs: Any) -> Tensor:
    return output.copy_(latent_attention_lse(*(*args, False), **kwargs)[0])


@operator("atb::npu_multi_head_latent_attention.lse_out")
def latent_attention_lse_out(*args: Any, output: Tensor, lse: Tensor, **kwargs: Any) -> tuple[Tensor, Tensor]:
    found = latent_attention_lse(*args, **kwargs)
    return output.copy_(found[0]), lse.copy_(found[1].reshape(lse.shape)) if found[1].numel() else lse


@operator("atb::npu_ring_mla")
def ring_mla(
    q_nope: Tensor,
    q_rope: Tensor,
    k_nope: Tensor,
    k_rope: Tensor,
    value: Tensor,
    mask: Tensor,
    seqlen: Tensor,
    head_num: int,
    kv_head_num: int,
    *,
    pre_out: Tensor | None = None,
    prev_lse: Tensor | None = None,
    qk_scale: float = 1.0,
    kernel_type: str | None = None,
    mask_type: str | None = None,
    input_layout: str | None = None,
    calc_type: str | None = None,
) -> tuple[Tensor, Tensor]:
    causal = mode({"no_mask": 0, "mask_type_triu": 1}, mask_type, "no_mask", "mask_type")
    first = mode({"calc_type_default": 0, "calc_type_first_ring": 1}, calc_type, "calc_type_first_ring", "calc_type")
    rows = seqlen.long().reshape(-1, seqlen.shape[-1])
    q, k = (torch.cat([wide(a), wide(b)], -1) for a, b in ((q_nope, q_rope), (k_nope, k_rope)))
    outs, sums, start = [], [], 0
    for piece in pieces(rows[0].tolist(), rows[-1].tolist()):
        part = slice(start, start + piece.keys)
        bias = bias_of(Mask(CAUSAL), piece) if causal else None
        out, lse = attention(q[piece.first : piece.first + piece.queries], k[part], value[part], qk_scale, bias)
        outs.append(out)
        sums.append(lse)
        start += piece.keys
    out, lse = torch.cat(outs), torch.cat(sums, 1)
    if not first and pre_out is not None and prev_lse is not None:
        out, lse = _merged(out, lse, wide(pre_out), wide(prev_lse))
    return out.to(q_nope.dtype), lse


def _merged(out: Tensor, lse: Tensor, before: Tensor, before_lse: Tensor) -> tuple[Tensor, Tensor]:
    total = torch.logaddexp(lse, before_lse)
    parts = [t * (s - total).exp().mT.unsqueeze(-1) for t, s in ((out, lse), (before, before_lse))]
    return torch.nan_to_num(parts[0] + parts[1]), total


class Step(NamedTuple):
    """One norm, its quantisation and the product behind it."""

    gamma: Tensor
    beta: Tensor
    weight: Tensor
    descale: Tensor
    scale: Tensor | None
    offset: Tensor | None
    bias: Tensor | None


def unfolded(weight: Tensor) -> Tensor:
    """(columns, inner), also from the tiles (1, inner / 32, columns, 32) of a fractal format."""
    return weight if weight.dim() == 2 else weight.reshape(-1, *weight.shape[-2:]).transpose(0, 1).flatten(1)


def _product(x: Tensor, step: Step, per_token: bool) -> Tensor:
    y = rms_norm(wide(x), wide(step.gamma), _EPSILON)[0] + wide(step.beta)
    token = torch.ones(len(y), 1)
    if per_token:
        quotients, token = by_rows(y)
        steps = to_integers(quotients, torch.int8)
    elif step.scale is None or step.offset is None:
        raise RuntimeError("quant_mode per_tensor_quant_asymm needs quant_scale and quant_offset")
    else:
        steps = to_integers(y / wide(step.scale) + wide(step.offset), torch.int8)
    out = product(steps, unfolded(step.weight).mT)
    out = out if step.bias is None or per_token else out + step.bias
    return out.float() * unpack_scale(step.descale) * token


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return rotate(x, cos, sin)


def _latents(
    input: Tensor, steps: tuple[Step, Step], gamma2: Tensor, angles: tuple[Tensor, Tensor], wuk: Tensor, per_token: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Query (tokens, heads, 512) and (tokens, heads, 64), key (tokens, 512) and (tokens, 64), in float32."""
    kind = input.dtype
    mixed = wide(_product(input, steps[0], per_token).to(kind))
    latent, rope, query = mixed.split([_LATENT, _ROPE, mixed.shape[-1] - _LATENT - _ROPE], -1)
    q = wide(_product(query.to(kind), steps[1], per_token).to(kind)).unflatten(-1, (-1, _NOPE + _ROPE))
    cos, sin = (wide(t) for t in angles)
    nope, turned = q[..., :_NOPE], rotated(q[..., _NOPE:], cos.unsqueeze(1), sin.unsqueeze(1))
    up = wide(wuk) if wuk.dim() == 3 else wide(wuk).transpose(1, 2).flatten(2)
    absorbed = torch.einsum("thd,hdl->thl", nope, up)
    return absorbed, turned, rms_norm(latent, wide(gamma2), _EPSILON)[0], rotated(rope, cos, sin)


@operator("atb::npu_mla_preprocess.out")
def mla_preprocess_out(
    input: Tensor,
    gamma0: Tensor,
    beta0: Tensor,
    wdqkv: Tensor,
    descale0: Tensor,
    gamma1: Tensor,
    beta1: Tensor,
    wuq: Tensor,
    descale1: Tensor,
    gamma2: Tensor,
    cos: Tensor,
    sin: Tensor,
    wuk: Tensor,
    kv_cache: Tensor,
    kv_cache_rope: Tensor,
    slotmapping: Tensor,
    *,
    quant_scale0: Tensor | None = None,
    quant_offset0: Tensor | None = None,
    bias0: Tensor | None = None,
    quant_scale1: Tensor | None = None,
    quant_offset1: Tensor | None = None,
    bias1: Tensor | None = None,
    ctkv_scale: Tensor | None = None,
    q_nope_scale: Tensor | None = None,
    cache_mode: str | None = None,
    quant_mode: str | None = None,
    q_out0: Tensor,
    kv_cache_out0: Tensor,
    q_out1: Tensor,
    kv_cache_out1: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    eight = mode(CACHES, cache_mode, "krope_ctkv", "cache_mode") == 2
    known = {"per_tensor_quant_asymm": 0, "per_token_quant_symm": 1}
    per_token = mode(known, quant_mode, "per_token_quant_symm", "quant_mode") == 1
    first = Step(gamma0, beta0, wdqkv, descale0, quant_scale0, quant_offset0, bias0)
    second = Step(gamma1, beta1, wuq, descale1, quant_scale1, quant_offset1, bias1)
    q, q_rope, latent, rope = _latents(input, (first, second), gamma2, (cos, sin), wuk, per_token)
    if eight and ctkv_scale is not None and q_nope_scale is not None:
        q = to_integers(q / wide(q_nope_scale).reshape(-1, 1), torch.int8)
        latent = to_integers(latent / wide(ctkv_scale), torch.int8)
    q_out0.copy_(q)
    q_out1.copy_(q_rope)
    store(latent, kv_cache_out0, slotmapping)
    store(rope, kv_cache_out1, slotmapping)
    return q_out0, kv_cache_out0, q_out1, kv_cache_out1


@operator("atb::npu_mla_preprocess")
def mla_preprocess(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    input, wuk, caches = args[0], args[12], args[13:15]
    shape = (input.shape[0], wuk.shape[0])
    return mla_preprocess_out(
        *args,
        **kwargs,
        q_out0=torch.empty((*shape, _LATENT), dtype=caches[0].dtype),
        kv_cache_out0=torch.zeros_like(caches[0]),
        q_out1=torch.empty((*shape, _ROPE), dtype=input.dtype),
        kv_cache_out1=torch.zeros_like(caches[1]),
    )
