"""Fusion attention for training: npu_fusion_attention in its three versions, forward and backward.

The arguments of Ascend/op-plugin docs/zh/custom_APIs/torch_npu-npu_fusion_attention.md; the formula is in
attention.py.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from jumar.emulate.torch_ops import attention as core
from jumar.emulate.torch_ops import random_bits
from jumar.emulate.torch_ops.attention import Bias, Dropout, Extras, Problem
from jumar.emulate.torch_ops.attention_mask import Sparse
from jumar.emulate.torch_ops.registry import not_emulated, operator

_FAR = 2**31 - 1
_Gradients = tuple[Tensor, Tensor, Tensor, Optional[Tensor], Optional[Tensor]]


@operator()
def npu_fusion_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    input_layout: str,
    pse: Tensor | None = None,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = _FAR,
    next_tockens: int = _FAR,
    inner_precise: int = 0,
    prefix: list[int] | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    seed: int = 0,
    offset: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor, int, int, int]:
    sparse = Sparse(sparse_mode, pre_tockens, next_tockens, prefix, inner_precise)
    return _forward(
        _problem(query, key, value, head_num, input_layout, actual_seq_qlen, actual_seq_kvlen, keep_prob, sparse),
        Extras(scale, Bias(pse), atten_mask, sparse, Dropout(), sink, softmax_layout),
        keep_prob,
        dropout_mask,
        (seed, offset),
    )


@operator()
def npu_fusion_attention_grad(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dy: Tensor,
    head_num: int,
    input_layout: str,
    *,
    pse: Tensor | None = None,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    softmax_max: Tensor | None = None,
    softmax_sum: Tensor | None = None,
    softmax_in: Tensor | None = None,
    attention_in: Tensor | None = None,
    scale_value: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = _FAR,
    next_tockens: int = _FAR,
    inner_precise: int = 0,
    seed: int = 0,
    offset: int = 0,
    numels: int = 0,
    prefix: list[int] | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: Tensor | None = None,
) -> _Gradients:
    sparse = Sparse(sparse_mode, pre_tockens, next_tockens, prefix, inner_precise)
    p = _problem(query, key, value, head_num, input_layout, actual_seq_qlen, actual_seq_kvlen, keep_prob, sparse)
    dropout = core.make_dropout(keep_prob, core.count_scores(p), seed, offset)
    e = Extras(scale_value, Bias(pse), atten_mask, sparse, dropout, sink, softmax_layout)
    return _shaped(core.backward(p, e, dy, attention_in, softmax_max, softmax_sum), p, query.dtype, pse)


@operator()
def npu_fusion_attention_v2(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    input_layout: str,
    *,
    pse: Tensor | None = None,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    query_rope: Tensor | None = None,
    key_rope: Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tokens: int = _FAR,
    next_tokens: int = _FAR,
    inner_precise: int = 0,
    prefix: list[int] | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    pse_type: int = 1,
    q_start_idx: list[int] | None = None,
    kv_start_idx: list[int] | None = None,
    softmax_layout: str = "",
    sink: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    seed: int = 0,
    offset: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor, int, int, int]:
    sparse = Sparse(sparse_mode, pre_tokens, next_tokens, prefix, inner_precise)
    q, k = _with_ropes(query, key, query_rope, key_rope, head_num, input_layout)
    return _forward(
        _problem(q, k, value, head_num, input_layout, actual_seq_qlen, actual_seq_kvlen, keep_prob, sparse),
        Extras(
            scale,
            Bias(pse, pse_type, _starts(q_start_idx, kv_start_idx)),
            atten_mask,
            sparse,
            Dropout(),
            sink,
            softmax_layout,
        ),
        keep_prob,
        dropout_mask,
        (seed, offset),
    )


@operator()
def npu_fusion_attention_grad_v2(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dy: Tensor,
    head_num: int,
    input_layout: str,
    *,
    pse: Tensor | None = None,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    softmax_max: Tensor | None = None,
    softmax_sum: Tensor | None = None,
    softmax_in: Tensor | None = None,
    attention_in: Tensor | None = None,
    query_rope: Tensor | None = None,
    key_rope: Tensor | None = None,
    scale_value: float = 1.0,
    keep_prob: float = 1.0,
    pre_tokens: int = _FAR,
    next_tokens: int = _FAR,
    inner_precise: int = 0,
    seed: int = 0,
    offset: int = 0,
    numels: int = 0,
    prefix: list[int] | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    pse_type: int = 1,
    q_start_idx: list[int] | None = None,
    kv_start_idx: list[int] | None = None,
    softmax_layout: str = "",
    sink: Tensor | None = None,
) -> tuple[Tensor | None, ...]:
    sparse = Sparse(sparse_mode, pre_tokens, next_tokens, prefix, inner_precise)
    q, k = _with_ropes(query, key, query_rope, key_rope, head_num, input_layout)
    p = _problem(q, k, value, head_num, input_layout, actual_seq_qlen, actual_seq_kvlen, keep_prob, sparse)
    dropout = core.make_dropout(keep_prob, core.count_scores(p), seed, offset)
    bias = Bias(pse, pse_type, _starts(q_start_idx, kv_start_idx))
    e = Extras(scale_value, bias, atten_mask, sparse, dropout, sink, softmax_layout)
    dq, dk, dv, dpse, dsink = core.backward(p, e, dy, attention_in, softmax_max, softmax_sum)
    size = core.to_heads(query, head_num, p.layout).shape[-1]
    ropes = (
        None if query_rope is None else _back(dq[..., size:], p, query.dtype),
        None if key_rope is None else _back(dk[..., size:], p, key.dtype),
    )
    plain = _shaped((dq[..., :size], dk[..., :size], dv, dpse, dsink), p, query.dtype, pse)
    return (*plain[:4], *ropes, plain[4])


@operator()
def npu_fusion_attention_v3(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    input_layout: str,
    pse: Tensor | None = None,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = _FAR,
    next_tockens: int = _FAR,
    inner_precise: int = 0,
    prefix: list[int] | None = None,
    actual_seq_qlen: Tensor | None = None,
    actual_seq_kvlen: Tensor | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: Tensor | None = None,
) -> tuple[Tensor, ...]:
    lengths = core.as_list(actual_seq_qlen), core.as_list(actual_seq_kvlen)
    sparse = Sparse(sparse_mode, pre_tockens, next_tockens, prefix, inner_precise)
    *results, seed, offset, _ = _forward(
        _problem(query, key, value, head_num, input_layout, *lengths, keep_prob, sparse),
        Extras(scale, Bias(pse), atten_mask, sparse, Dropout(), sink, softmax_layout),
        keep_prob,
        None,
        (0, 0),
    )
    return (*results, torch.tensor([seed]), torch.tensor([offset]))


@operator()
def npu_fusion_attention_grad_v3(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dy: Tensor,
    head_num: int,
    input_layout: str,
    *,
    seed: Tensor | None = None,
    offset: Tensor | None = None,
    actual_seq_qlen: Tensor | None = None,
    actual_seq_kvlen: Tensor | None = None,
    **others: Any,
) -> _Gradients:
    return npu_fusion_attention_grad(
        query,
        key,
        value,
        dy,
        head_num,
        input_layout,
        seed=0 if seed is None else int(seed),
        offset=0 if offset is None else int(offset),
        actual_seq_qlen=core.as_list(actual_seq_qlen),
        actual_seq_kvlen=core.as_list(actual_seq_kvlen),
        **others,
    )


def _problem(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    heads: int,
    layout: str,
    query_ends: list[int] | None,
    key_ends: list[int] | None,
    keep_prob: float,
    sparse: Sparse,
) -> Problem:
    _check(query, key, value, heads, layout, keep_prob, sparse.mode)
    return core.problem(query, key, value, heads, layout, query_ends, key_ends)


def _check(query: Tensor, key: Tensor, value: Tensor, heads: int, layout: str, keep_prob: float, mode: int) -> None:
    """What op-plugin refuses before it calls the device, in its words."""
    if heads <= 0:
        raise RuntimeError(f"head_num must > 0, but got {heads}")
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() not in (3, 4):
            raise RuntimeError(
                f"The shapes of the input {name} should be 3 or 4 dimensional, but got {tensor.dim()}-dimensional"
            )
    if not 0 < keep_prob <= 1:
        raise RuntimeError(f"The keep_prob value must be in range of (0, 1], but got {keep_prob}")
    if not layout:
        raise RuntimeError("input_layout is empty")
    varlen = layout.upper() == "TND"
    if varlen and (not 0 <= mode <= 8 or mode == 5):
        raise RuntimeError(f"The sparse_mode value must be in range of [0,5) or (5,8], but got {mode}")
    if not varlen and not 0 <= mode <= 6:
        raise RuntimeError(f"The sparse_mode value must be in range of [0,6], but got {mode}")


def _forward(
    p: Problem, e: Extras, keep_prob: float, given: Tensor | None, start: tuple[int, int]
) -> tuple[Tensor, Tensor, Tensor, Tensor, int, int, int]:
    count = core.count_scores(p)
    seed, offset = start
    if keep_prob < 1 and seed == 0 and (given is None or not given.numel()):
        if torch.npu.is_current_stream_capturing():
            # A replay would draw another seed than the one that the backward operator was captured with.
            raise not_emulated("npu_fusion_attention", "with `keep_prob` below 1 inside a captured graph")
        seed, offset = random_bits.next_seed()
    e = e._replace(dropout=core.make_dropout(keep_prob, count, seed, offset, given))
    out, top, total = core.forward(p, e)
    return out, top, total, torch.empty(0, dtype=p.query.dtype), seed, offset, count


def _shaped(found: tuple[Any, ...], p: Problem, dtype: torch.dtype, pse: Tensor | None) -> _Gradients:
    dq, dk, dv, dpse, dsink = found
    dpse = None if dpse is None or pse is None else dpse.to(pse.dtype)
    return _back(dq, p, dtype), _back(dk, p, dtype), _back(dv, p, dtype), dpse, dsink


def _back(gradient: Tensor, p: Problem, dtype: torch.dtype) -> Tensor:
    return core.from_heads(gradient.to(dtype), p.layout)


def _with_ropes(
    query: Tensor, key: Tensor, query_rope: Tensor | None, key_rope: Tensor | None, heads: int, layout: str
) -> tuple[Tensor, Tensor]:
    layout = layout.upper()
    key_heads = heads
    if layout in ("BSH", "SBH"):
        key_heads = key.shape[-1] * heads // query.shape[-1]
    return core.with_rope(query, query_rope, heads, layout), core.with_rope(key, key_rope, key_heads, layout)


def _starts(query: list[int] | None, key: list[int] | None) -> tuple[int, int]:
    return (query or [0])[0], (key or [0])[0]
