"""Attention for inference: prompt, incremental, fused; with lengths, pages and quantised caches.

Ascend/op-plugin docs/zh/custom_APIs/torch_npu-npu_fused_infer_attention_score.md and its relatives.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from jumar.emulate.ops import attention_cache as cache
from jumar.emulate.ops.attention import Bias, Piece, as_list, scores, softmax, to_heads
from jumar.emulate.ops.attention_mask import Sparse, hidden
from jumar.emulate.ops.formula import wide
from jumar.emulate.ops.integers import to_integers
from jumar.emulate.ops.registry import not_emulated, operator

_FAR = 2**31 - 1


class Request(NamedTuple):
    """One call in the words all versions share."""

    query: Tensor
    key: Tensor
    value: Tensor
    heads: int
    key_heads: int
    layout: str
    scale: float
    sparse: Sparse
    mask: Tensor | None = None
    pse: Tensor | None = None
    query_lengths: Any = None
    key_lengths: Any = None
    table: Tensor | None = None
    block: int = 0
    query_rope: Tensor | None = None
    key_rope: Tensor | None = None
    key_scale: Tensor | None = None
    key_offset: Tensor | None = None
    key_mode: int = 0
    value_scale: Tensor | None = None
    value_offset: Tensor | None = None
    value_mode: int = 0
    out_scale: Tensor | None = None
    out_offset: Tensor | None = None
    sink: Tensor | None = None


def attend(r: Request) -> tuple[Tensor, Tensor]:
    """The result in the output layout, and the logarithm of each row's sum (batch, heads, rows, 1)."""
    source, _, target = r.layout.partition("_")
    key_heads = r.key_heads or r.heads
    queries = _sequences(r.query, r.heads, source, as_list(r.query_lengths), False)
    if r.query_rope is not None:
        ropes = _sequences(r.query_rope, r.heads, source, as_list(r.query_lengths), False)
        queries = [torch.cat(pair, -1) for pair in zip(queries, ropes, strict=True)]
    keys = _cached(r, r.key, key_heads, source, len(queries), r.key_scale, r.key_offset, r.key_mode)
    values = _cached(r, r.value, key_heads, source, len(queries), r.value_scale, r.value_offset, r.value_mode)
    if r.key_rope is not None:
        ropes = _cached(r, r.key_rope, key_heads, source, len(queries), None, None, 0)
        keys = [torch.cat([wide(k), wide(rope)], -1) for k, rope in zip(keys, ropes, strict=True)]
    outs, sums = [], []
    for i, (q, k, v) in enumerate(zip(queries, keys, values, strict=True)):
        out, lse = _one(r, i, q, k, v, (i, len(queries)))
        outs.append(out)
        sums.append(lse)
    return _joined(outs, r, source, target), _joined_sums(sums, r, source)


def _one(
    r: Request, index: int, q: Tensor, k: Tensor, v: Tensor, place: tuple[int, int]
) -> tuple[Tensor, Tensor]:
    q, k, v = wide(q), wide(k), wide(v)
    if k.shape[0] != r.heads:
        k, v = (t.repeat_interleave(r.heads // t.shape[0], 0) for t in (k, v))
    x = scores(q, k, r.scale, Bias(_pse(r.pse, q, k), 0), Piece(index, place, slice(0), slice(0)))
    unseen = hidden(r.mask, r.sparse, index, q.shape[1], k.shape[1], place)
    weights, top, total = softmax(x, unseen, r.sink)
    lse = torch.where(total > 0, top + total.log(), torch.full_like(top, float("inf")))
    return weights @ v, lse


def _pse(pse: Tensor | None, q: Tensor, k: Tensor) -> Tensor | None:
    return None if pse is None else pse[..., : q.shape[1], : k.shape[1]]


def _sequences(x: Tensor, heads: int, layout: str, lengths: list[int] | None, single: bool) -> list[Tensor]:
    """Each sequence as (heads, rows, size), cut to its length."""
    if layout in ("TND", "NTD"):
        whole = x if layout == "NTD" else x.transpose(0, 1)
        ends = lengths or [whole.shape[1]]
        starts = [0, *ends[:-1]]
        return [whole[:, a:b] for a, b in zip(starts, ends, strict=True)]
    if layout == "NSD":
        return [x if not lengths else x[:, : lengths[0]]]
    batches = to_heads(x, heads, layout)
    counts = lengths or [batches.shape[2]]
    return [b[:, : counts[i if len(counts) > 1 else 0]] for i, b in enumerate(batches)]


def _cached(
    r: Request,
    x: Tensor,
    heads: int,
    layout: str,
    batches: int,
    scale: Tensor | None,
    offset: Tensor | None,
    mode: int,
) -> list[Tensor]:
    lengths = as_list(r.key_lengths)
    if r.table is not None:
        counts = lengths or [r.table.shape[1] * x.shape[-2]] * batches
        counts = counts * batches if len(counts) == 1 else counts
        parts = cache.paged(x, r.table, counts, heads, r.block)
    elif scale is not None and layout not in ("TND", "NTD", "NSD"):
        values = to_heads(x, heads, layout)
        values = cache.dequantised(values, scale, offset, mode)
        counts = lengths or [values.shape[2]]
        return [b[:, : counts[i if len(counts) > 1 else 0]] for i, b in enumerate(values)]
    else:
        parts = _sequences(x, heads, layout, lengths, True)
    if scale is None:
        return parts
    return [cache.dequantised(p.unsqueeze(0), scale, offset, mode)[0] for p in parts]


def _joined(outs: list[Tensor], r: Request, source: str, target: str) -> Tensor:
    dtype = r.query.dtype if r.query.dtype.is_floating_point else torch.float16
    if source in ("TND", "NTD"):
        whole = torch.cat(outs, 1)
        rows = r.query.shape[1 if source == "NTD" else 0]
        if whole.shape[1] < rows:
            whole = torch.nn.functional.pad(whole, (0, 0, 0, rows - whole.shape[1]))
        whole = whole if (target or source) == "NTD" else whole.transpose(0, 1)
    elif source == "NSD":
        whole = outs[0]
    else:
        rows = to_heads(r.query, r.heads, source).shape[2]
        padded = [torch.nn.functional.pad(o, (0, 0, 0, rows - o.shape[1])) for o in outs]
        whole = _laid_out(torch.stack(padded), target or source)
    if r.out_scale is not None:
        y = whole * wide(r.out_scale)
        return to_integers(y if r.out_offset is None else y + wide(r.out_offset), torch.int8)
    return whole.contiguous().to(dtype)


def _laid_out(x: Tensor, layout: str) -> Tensor:
    if layout == "BSND":
        return x.transpose(1, 2)
    if layout == "BSH":
        return x.transpose(1, 2).flatten(2)
    return x.transpose(0, 1) if layout == "NBSD" else x


def _joined_sums(sums: list[Tensor], r: Request, source: str) -> Tensor:
    if source in ("TND", "NTD"):
        return torch.cat(sums, 1).transpose(0, 1).float().contiguous()
    rows = max(s.shape[1] for s in sums)
    padded = [torch.nn.functional.pad(s, (0, 0, 0, rows - s.shape[1]), value=float("inf")) for s in sums]
    return torch.stack(padded).float()


def _refuse(name: str, **given: Any) -> None:
    used = [key for key, value in given.items() if value is not None and value is not False]
    if used:
        raise not_emulated(f"{name} with `{used[0]}`")


@operator()
def npu_prompt_flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    pse_shift: Tensor | None = None,
    actual_seq_lengths: list[int] | None = None,
    deq_scale1: Tensor | None = None,
    quant_scale1: Tensor | None = None,
    deq_scale2: Tensor | None = None,
    quant_scale2: Tensor | None = None,
    quant_offset2: Tensor | None = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    pre_tokens: int = _FAR,
    next_tokens: int = 0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    actual_seq_lengths_kv: list[int] | None = None,
    sparse_mode: int = 0,
) -> Tensor:
    _refuse(
        "npu_prompt_flash_attention", deq_scale1=deq_scale1, quant_scale1=quant_scale1, deq_scale2=deq_scale2
    )
    request = Request(
        query,
        key,
        value,
        num_heads,
        num_key_value_heads,
        input_layout,
        scale_value,
        Sparse(sparse_mode, pre_tokens, next_tokens),
        mask=atten_mask,
        pse=pse_shift,
        query_lengths=actual_seq_lengths,
        key_lengths=actual_seq_lengths_kv,
        out_scale=quant_scale2,
        out_offset=quant_offset2,
    )
    return attend(request)[0]


@operator()
def npu_incre_flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    pse_shift: Tensor | None = None,
    actual_seq_lengths: list[int] | None = None,
    antiquant_scale: Tensor | None = None,
    antiquant_offset: Tensor | None = None,
    block_table: Tensor | None = None,
    dequant_scale1: Tensor | None = None,
    quant_scale1: Tensor | None = None,
    dequant_scale2: Tensor | None = None,
    quant_scale2: Tensor | None = None,
    quant_offset2: Tensor | None = None,
    kv_padding_size: Tensor | None = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    block_size: int = 0,
    inner_precise: int = 1,
) -> Tensor:
    _refuse(
        "npu_incre_flash_attention",
        dequant_scale1=dequant_scale1,
        quant_scale1=quant_scale1,
        dequant_scale2=dequant_scale2,
        kv_padding_size=kv_padding_size,
    )
    scales, offsets = _both(antiquant_scale), _both(antiquant_offset)
    request = Request(
        query,
        key,
        value,
        num_heads,
        num_key_value_heads,
        input_layout,
        scale_value,
        Sparse(),
        mask=atten_mask,
        pse=pse_shift,
        key_lengths=actual_seq_lengths,
        table=block_table,
        block=block_size,
        key_scale=scales[0],
        key_offset=offsets[0],
        value_scale=scales[1],
        value_offset=offsets[1],
        out_scale=quant_scale2,
        out_offset=quant_offset2,
    )
    return attend(request)[0]


def _both(factors: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    return (None, None) if factors is None else (factors[0], factors[1])


@operator()
def npu_fused_infer_attention_score(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    pse_shift: Tensor | None = None,
    atten_mask: Tensor | None = None,
    actual_seq_lengths: list[int] | None = None,
    actual_seq_lengths_kv: list[int] | None = None,
    dequant_scale1: Tensor | None = None,
    quant_scale1: Tensor | None = None,
    dequant_scale2: Tensor | None = None,
    quant_scale2: Tensor | None = None,
    quant_offset2: Tensor | None = None,
    antiquant_scale: Tensor | None = None,
    antiquant_offset: Tensor | None = None,
    key_antiquant_scale: Tensor | None = None,
    key_antiquant_offset: Tensor | None = None,
    value_antiquant_scale: Tensor | None = None,
    value_antiquant_offset: Tensor | None = None,
    block_table: Tensor | None = None,
    query_padding_size: Tensor | None = None,
    kv_padding_size: Tensor | None = None,
    key_shared_prefix: Tensor | None = None,
    value_shared_prefix: Tensor | None = None,
    actual_shared_prefix_len: list[int] | None = None,
    query_rope: Tensor | None = None,
    key_rope: Tensor | None = None,
    key_rope_antiquant_scale: Tensor | None = None,
    num_heads: int = 1,
    scale: float = 1.0,
    pre_tokens: int = _FAR,
    next_tokens: int = _FAR,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    sparse_mode: int = 0,
    inner_precise: int = 0,
    block_size: int = 0,
    antiquant_mode: int = 0,
    key_antiquant_mode: int = 0,
    value_antiquant_mode: int = 0,
    softmax_lse_flag: bool = False,
) -> tuple[Tensor, Tensor]:
    _refuse(
        "npu_fused_infer_attention_score",
        dequant_scale1=dequant_scale1,
        quant_scale1=quant_scale1,
        dequant_scale2=dequant_scale2,
        query_padding_size=query_padding_size,
        kv_padding_size=kv_padding_size,
        key_shared_prefix=key_shared_prefix,
        key_rope_antiquant_scale=key_rope_antiquant_scale,
    )
    scales, offsets = _both(antiquant_scale), _both(antiquant_offset)
    separate = key_antiquant_scale is not None
    request = Request(
        query,
        key,
        value,
        num_heads,
        num_key_value_heads,
        input_layout,
        scale,
        Sparse(sparse_mode, pre_tokens, next_tokens),
        mask=atten_mask,
        pse=pse_shift,
        query_lengths=actual_seq_lengths,
        key_lengths=actual_seq_lengths_kv,
        table=block_table,
        block=block_size,
        query_rope=query_rope,
        key_rope=key_rope,
        key_scale=key_antiquant_scale if separate else scales[0],
        key_offset=key_antiquant_offset if separate else offsets[0],
        key_mode=key_antiquant_mode if separate else antiquant_mode,
        value_scale=value_antiquant_scale if separate else scales[1],
        value_offset=value_antiquant_offset if separate else offsets[1],
        value_mode=value_antiquant_mode if separate else antiquant_mode,
        out_scale=quant_scale2,
        out_offset=quant_offset2,
    )
    out, sums = attend(request)
    return out, sums if softmax_lse_flag else torch.zeros(1)


@operator()
def npu_fused_infer_attention_score_v2(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    query_rope: Tensor | None = None,
    key_rope: Tensor | None = None,
    pse_shift: Tensor | None = None,
    atten_mask: Tensor | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    block_table: Tensor | None = None,
    dequant_scale_key: Tensor | None = None,
    dequant_offset_key: Tensor | None = None,
    dequant_scale_value: Tensor | None = None,
    dequant_offset_value: Tensor | None = None,
    quant_scale_out: Tensor | None = None,
    quant_offset_out: Tensor | None = None,
    learnable_sink: Tensor | None = None,
    num_query_heads: int = 1,
    num_key_value_heads: int = 0,
    softmax_scale: float = 1.0,
    pre_tokens: int = _FAR,
    next_tokens: int = _FAR,
    input_layout: str = "BSH",
    sparse_mode: int = 0,
    block_size: int = 0,
    key_quant_mode: int = 0,
    value_quant_mode: int = 0,
    inner_precise: int = 0,
    return_softmax_lse: bool = False,
    **others: Any,
) -> tuple[Tensor, Tensor]:
    _refuse("npu_fused_infer_attention_score_v2", **{k: v for k, v in others.items() if v != 0})
    request = Request(
        query,
        key,
        value,
        num_query_heads,
        num_key_value_heads,
        input_layout,
        softmax_scale,
        Sparse(sparse_mode, pre_tokens, next_tokens),
        mask=atten_mask,
        pse=pse_shift,
        query_lengths=actual_seq_qlen,
        key_lengths=actual_seq_kvlen,
        table=block_table,
        block=block_size,
        query_rope=query_rope,
        key_rope=key_rope,
        key_scale=dequant_scale_key,
        key_offset=dequant_offset_key,
        key_mode=key_quant_mode,
        value_scale=dequant_scale_value,
        value_offset=dequant_offset_value,
        value_mode=value_quant_mode,
        out_scale=quant_scale_out,
        out_offset=quant_offset_out,
        sink=None if learnable_sink is None else wide(learnable_sink),
    )
    out, sums = attend(request)
    return out, sums if return_softmax_lse else torch.zeros(1)


@operator(
    "_npu_fused_infer_attention_score_get_max_workspace",
    "_npu_fused_infer_attention_score_v2_get_max_workspace",
    "_npu_fusion_attention_v3_get_max_workspace",
    "_npu_fusion_attention_grad_v3_get_max_workspace",
)
def no_workspace(*args: Any, **kwargs: Any) -> Tensor:
    """The CPU needs no scratch memory that the caller would have to bring along."""
    return torch.empty(0, dtype=torch.uint8)
