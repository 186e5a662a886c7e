"""Attention of the ATB library over a cache in pages.

Ascend/op-plugin op_plugin/ops/atb and op_plugin/python/atb/_atb_api_docs.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from jumar.emulate.torch_ops.atb_attention import (
    ALIBI,
    ALIBI_COMPRESS,
    ALIBI_SQRT,
    CAUSAL,
    NO_MASK,
    NORM,
    NORM_COMPRESS,
    Mask,
    attention,
    attention_in_eight_bits,
    bias_of,
    heads_of,
    ints,
    mode,
    page_rows,
    pieces,
    put,
)
from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.registry import not_emulated, operator

_PAGED = {0: NO_MASK, 1: NORM, 2: ALIBI, 3: NORM, 5: NORM_COMPRESS}
"""PagedAttentionParam::MaskType, as the above."""
_DEQUANTISED, _ONLINE = 1, 3
"""PagedAttentionParam::QuantType: caches of eight bits; eight bits on all sides, the weights quantised as they come."""


def _paged(
    query: Tensor,
    caches: tuple[Tensor, Tensor],
    table: Tensor,
    lengths: tuple[Sequence[int], Sequence[int]],
    heads: tuple[int, int],
    scale: float,
    mask: Mask,
) -> Tensor:
    q = heads_of(query, heads[0])
    key_heads = heads[1] or heads[0]
    outs = []
    for piece in pieces(*lengths):
        k, v = (page_rows(cache, table[piece.number], piece.keys, key_heads) for cache in caches)
        rows = q[piece.first : piece.first + piece.queries]
        outs.append(attention(rows, k, v, scale, bias_of(mask, piece))[0])
    return torch.cat(outs)


@operator("atb::_npu_flash_attention_qlens")
def flash_attention_qlens(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    block_table: Tensor,
    mask: Tensor,
    seq_len: Tensor,
    context_lens: Tensor,
    num_kv_heads: int,
    num_heads: int,
    scale_value: float,
    out: Tensor,
) -> None:
    lengths = ints(seq_len), ints(context_lens)
    chosen = Mask(NORM_COMPRESS, mask)
    caches = (key_cache, value_cache)
    put(out, _paged(query, caches, block_table, lengths, (num_heads, num_kv_heads), scale_value, chosen))


@operator("atb::_npu_flash_attention_prefix_v2.out")
def flash_attention_prefix_v2(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    block_table: Tensor,
    mask: Tensor,
    seq_len: list[int],
    context_lens: list[int],
    *,
    slopes: Tensor | None = None,
    kernel_type: int = 1,
    mask_type: int = 3,
    num_kv_heads: int = 0,
    num_heads: int = 0,
    scale_value: float = 1.0,
    out: Tensor,
) -> Tensor:
    lengths = ints(seq_len), ints(context_lens)
    chosen = Mask(mask_type, mask, slopes)
    caches = (key_cache, value_cache)
    return put(out, _paged(query, caches, block_table, lengths, (num_heads, num_kv_heads), scale_value, chosen))


_ENCODER_MASKS = {
    "mask_type_norm_compress": NORM_COMPRESS,
    "mask_type_alibi_compress": ALIBI_COMPRESS,
    "mask_type_alibi_compress_sort": ALIBI_SQRT,
    "mask_type_causal_mask": CAUSAL,
}


@operator("atb::npu_self_attention_prefix_encoder")
def self_attention_prefix_encoder(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    block_tables: Tensor,
    seqlen: list[int],
    kv_seqlen: list[int],
    q_headnum: int,
    qk_scale: float,
    kv_headnum: int,
    *,
    mask: Tensor | None = None,
    slopes: Tensor | None = None,
    mask_type: str | None = None,
) -> Tensor:
    chosen = Mask(mode(_ENCODER_MASKS, mask_type, "mask_type_causal_mask", "mask_type"), mask, slopes)
    lengths = ints(seqlen), ints(kv_seqlen)
    out = torch.zeros_like(query)
    return put(out, _paged(query, (key, value), block_tables, lengths, (q_headnum, kv_headnum), qk_scale, chosen))


@operator("atb::_npu_paged_attention")
def paged_attention(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    num_kv_heads: int,
    num_heads: int,
    scale_value: float,
    block_table: Tensor,
    context_lens: Tensor,
    out: Tensor,
    workspace: Tensor | None = None,
) -> None:
    keys = ints(context_lens)
    lengths = ([1] * len(keys), keys)
    caches = (key_cache, value_cache)
    put(out, _paged(query, caches, block_table, lengths, (num_heads, num_kv_heads), scale_value, Mask()))


@operator("atb::_npu_paged_attention_v2.out")
def paged_attention_v2(
    query: Tensor,
    key_cache: Tensor,
    block_table: Tensor,
    context_lens: list[int],
    *,
    value_cache: Tensor | None = None,
    mask: Tensor | None = None,
    num_kv_heads: int = 0,
    num_heads: int = 0,
    scale_value: float = 1.0,
    mask_type: int = 0,
    workspace: Tensor | None = None,
    out: Tensor,
) -> Tensor:
    keys = ints(context_lens)
    lengths = ([1] * len(keys), keys)
    caches = (key_cache, key_cache if value_cache is None else value_cache)
    chosen = Mask(_PAGED.get(mask_type, NO_MASK), mask)
    return put(out, _paged(query, caches, block_table, lengths, (num_heads, num_kv_heads), scale_value, chosen))


@operator(
    "atb::_npu_paged_attention_get_workspace",
    "atb::_npu_paged_attention_v2_get_workspace",
    "atb::_npu_multi_head_latent_attention_get_workspace.lse",
)
def workspace_of(query: Tensor, *_: Any, **others: Any) -> Tensor:
    # The references need no room of their own; a graph keeps the tensor, so it is not empty.
    return torch.empty(32, dtype=torch.uint8)


@operator("atb::_npu_paged_attention_mla")
def paged_attention_mla(
    query: Tensor,
    key_cache: Tensor,
    num_kv_heads: int,
    num_heads: int,
    scale_value: float,
    block_table: Tensor,
    context_lens: Tensor,
    mla_vheadsize: int,
    out: Tensor,
) -> None:
    keys = ints(context_lens)
    pages = key_cache if key_cache.dim() == 4 else key_cache.reshape(*key_cache.shape[:2], num_kv_heads, -1)
    caches = (pages, pages[..., :mla_vheadsize])
    lengths = ([1] * len(keys), keys)
    put(out, _paged(query, caches, block_table, lengths, (num_heads, num_kv_heads), scale_value, Mask()))


@operator("atb::_npu_paged_attention_quant")
def paged_attention_quant(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    num_kv_heads: int,
    num_heads: int,
    scale_value: float,
    block_table: Tensor,
    context_lens: Tensor,
    quant_type: int,
    outdata_type: int,
    k_descale: Tensor,
    v_descale: Tensor,
    out: Tensor,
) -> None:
    keys = ints(context_lens)
    if quant_type == _ONLINE:
        q, outs = heads_of(query, num_heads), []
        for piece in pieces([1] * len(keys), keys):
            k, v = (page_rows(c, block_table[piece.number], piece.keys, num_kv_heads) for c in (key_cache, value_cache))
            rows = q[piece.first : piece.first + 1]
            outs.append(attention_in_eight_bits(rows, k, v, scale_value, (k_descale, v_descale))[0])
        put(out, torch.cat(outs))
        return
    if quant_type not in (0, _DEQUANTISED):
        raise not_emulated("atb::_npu_paged_attention_quant", f"with quant_type {quant_type}")
    caches = tuple(
        wide(cache) * wide(scale).reshape(num_kv_heads, -1)
        for cache, scale in ((key_cache, k_descale), (value_cache, v_descale))
    )
    lengths = ([1] * len(keys), keys)
    heads = (num_heads, num_kv_heads)
    put(out, _paged(query, (caches[0], caches[1]), block_table, lengths, heads, scale_value, Mask()))


@operator("atb::_npu_paged_attention_splitfuse")
def paged_attention_splitfuse(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    block_table: Tensor,
    context_lens: Tensor,
    mask: Tensor,
    seq_len: Tensor,
    num_kv_heads: int,
    num_heads: int,
    scale_value: float,
    out: Tensor,
) -> None:
    lengths = ints(seq_len), ints(context_lens)
    caches = (key_cache, value_cache)
    heads = (num_heads, num_kv_heads)
    put(out, _paged(query, caches, block_table, lengths, heads, scale_value, Mask(NORM, mask)))


@operator("atb::_npu_paged_attention_splitfuse_v2")
def paged_attention_splitfuse_v2(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    block_table: Tensor,
    context_lens: Tensor,
    mask: Tensor,
    seq_len: Tensor,
    num_kv_heads: int,
    num_heads: int,
    scale_value: float,
    *,
    mask_type: int | None = 5,
    out: Tensor,
) -> None:
    if mask_type not in (None, 5):
        raise RuntimeError(f"mask_type only supports MASK_TYPE_NORM_COMPRESS(5), but got: {mask_type}")
    lengths = ints(seq_len), ints(context_lens)
    caches = (key_cache, value_cache)
    heads = (num_heads, num_kv_heads)
    put(out, _paged(query, caches, block_table, lengths, heads, scale_value, Mask(NORM_COMPRESS, mask)))
