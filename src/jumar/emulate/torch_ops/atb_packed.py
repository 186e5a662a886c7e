"""Attention of the ATB library over packed sequences: one behind the other, without padding.

Ascend/op-plugin op_plugin/ops/atb and op_plugin/python/atb/_atb_api_docs.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from jumar.emulate.torch_ops.atb_attention import (
    NORM,
    NORM_COMPRESS,
    Mask,
    attention,
    bias_of,
    heads_of,
    ints,
    pieces,
    put,
)
from jumar.emulate.torch_ops.registry import operator


def _packed(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    lengths: tuple[Sequence[int], Sequence[int]],
    heads: tuple[int, int],
    scale: float,
    mask: Mask,
) -> Tensor:
    """Sequences one behind the other, on both sides."""
    key_heads = heads[1] or heads[0]
    q, k, v = heads_of(query, heads[0]), heads_of(key, key_heads), heads_of(value, key_heads)
    outs, start = [], 0
    for piece in pieces(*lengths):
        part = slice(start, start + piece.keys)
        rows = q[piece.first : piece.first + piece.queries]
        outs.append(attention(rows, k[part], v[part], scale, bias_of(mask, piece))[0])
        start += piece.keys
    return torch.cat(outs)


@operator("atb::_npu_flash_attention")
def flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    seq_len: Tensor,
    scale_value: float,
    num_heads: int,
    num_kv_heads: int,
    out: Tensor,
) -> None:
    lengths = ints(seq_len)
    heads = (num_heads, num_kv_heads)
    put(out, _packed(query, key, value, (lengths, lengths), heads, scale_value, Mask(NORM, mask)))


@operator("atb::_npu_flash_attention_v2.out")
def flash_attention_v2(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    seq_len: list[int],
    *,
    mask: Tensor | None = None,
    slopes: Tensor | None = None,
    kernel_type: int = 0,
    mask_type: int = 2,
    scale_value: float = 1.0,
    num_heads: int = 0,
    num_kv_heads: int = 0,
    out: Tensor,
) -> Tensor:
    lengths = ints(seq_len)
    chosen = Mask(mask_type, mask, slopes)
    return put(out, _packed(query, key, value, (lengths, lengths), (num_heads, num_kv_heads), scale_value, chosen))


@operator("atb::_npu_flash_attention_v3")
def flash_attention_v3(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    seq_len: Tensor,
    scale_value: float,
    num_heads: int,
    num_kv_heads: int,
    *,
    mask_type: int | None = 3,
    out: Tensor,
) -> None:
    kind = NORM_COMPRESS if mask_type is None else mask_type
    if kind != NORM_COMPRESS:
        raise RuntimeError(f"mask_type only supports MASK_TYPE_NORM_COMPRESS, but got: {kind}")
    lengths = ints(seq_len)
    heads = (num_heads, num_kv_heads)
    put(out, _packed(query, key, value, (lengths, lengths), heads, scale_value, Mask(kind, mask)))


@operator("atb::_npu_flash_attention_unpad")
def flash_attention_unpad(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    seq_len: Tensor,
    scale_value: float,
    num_heads: int,
    num_kv_heads: int,
    out: Tensor,
) -> None:
    lengths = ints(seq_len)
    put(out, _packed(query, key, value, (lengths, lengths), (num_heads, num_kv_heads), scale_value, Mask()))


@operator("atb::_npu_flash_attention_unpad_v2")
def flash_attention_unpad_v2(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    seq_len: Tensor,
    scale_value: float,
    num_heads: int,
    num_kv_heads: int,
    *,
    kernel_type: int | None = 0,
    out: Tensor,
) -> None:
    flash_attention_unpad(query, key, value, seq_len, scale_value, num_heads, num_kv_heads, out)
