"""Attention over chosen blocks: block sparse, and compression and selection of native sparse attention."""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.core.compat import zip
from jumar.emulate.torch_ops import attention as core
from jumar.emulate.torch_ops.attention import Bias, Dropout, Extras, Problem
from jumar.emulate.torch_ops.attention_mask import Sparse
from jumar.emulate.torch_ops.formula import gradients, wide
from jumar.emulate.torch_ops.registry import operator


@operator()
def npu_block_sparse_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    block_sparse_mask: Tensor,
    block_shape: list[int],
    *,
    q_input_layout: str = "TND",
    kv_input_layout: str = "TND",
    num_key_value_heads: int = 1,
    scale_value: float = 0.0,
    inner_precise: int = 1,
    actual_seq_lengths: list[int] | None = None,
    actual_seq_lengths_kv: list[int] | None = None,
    softmax_lse_flag: int | None = 0,
) -> tuple[Tensor, Tensor]:
    p, e = _blocks(
        query,
        key,
        value,
        block_sparse_mask,
        block_shape,
        actual_seq_lengths,
        actual_seq_lengths_kv,
        q_input_layout,
        scale_value,
    )
    out, top, total = core.forward(p, e)
    return out, (top + total.log())[..., :1].contiguous()


@operator()
def npu_block_sparse_attention_backward(
    d_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_out: Tensor,
    softmax_lse: Tensor,
    block_sparse_mask: Tensor,
    block_shape: list[int] | None,
    actual_seq_lengths: list[int] | None,
    actual_seq_lengths_kv: list[int] | None,
    q_input_layout: str,
    kv_input_layout: str,
    num_key_value_heads: int,
    scale_value: float,
) -> tuple[Tensor, Tensor, Tensor]:
    p, e = _blocks(
        query,
        key,
        value,
        block_sparse_mask,
        block_shape or [128, 128],
        actual_seq_lengths,
        actual_seq_lengths_kv,
        q_input_layout,
        scale_value,
    )
    found = core.backward(p, e, d_out, attention_out, None, None)[:3]
    dq, dk, dv = (core.from_heads(g.to(query.dtype), p.layout) for g in found)
    return dq, dk, dv


def _blocks(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    shape: list[int],
    query_lengths: list[int] | None,
    key_lengths: list[int] | None,
    layout: str,
    scale: float,
) -> tuple[Problem, Extras]:
    ends = (_ends(query_lengths, query), _ends(key_lengths, key)) if layout == "TND" else (None, None)
    p = core.problem(query, key, value, query.shape[1], layout, *ends)
    hidden = mask.eq(0).repeat_interleave(shape[0], -2).repeat_interleave(shape[1], -1)
    return p, Extras(scale, Bias(), hidden, Sparse(precise=2), Dropout(), None, "TND")


def _ends(lengths: list[int] | None, x: Tensor) -> list[int]:
    """Lengths of the sequences, or their running ends: the last one tells."""
    if not lengths:
        return [x.shape[0]]
    if lengths[-1] == x.shape[0]:
        return list(lengths)
    total = 0
    return [total := total + n for n in lengths]


@operator()
def npu_nsa_compress(
    input: Tensor,
    weight: Tensor,
    compress_block_size: int,
    compress_stride: int,
    *,
    actual_seq_len: list[int] | None = None,
) -> Tensor:
    windows = _windows(input.shape[0], compress_block_size, compress_stride, actual_seq_len)
    return _compress(wide(input), wide(weight), windows).to(input.dtype)


@operator()
def npu_nsa_compress_grad(
    grad: Tensor,
    input: Tensor,
    weight: Tensor,
    compress_block_size: int,
    compress_stride: int,
    *,
    actual_seq_len: list[int] | None = None,
) -> tuple[Tensor, Tensor]:
    windows = _windows(input.shape[0], compress_block_size, compress_stride, actual_seq_len)
    dx, dw = gradients(lambda x, w: _compress(x, w, windows), [input, weight], grad)
    return dx, dw


def _windows(count: int, size: int, stride: int, ends: list[int] | None) -> Tensor:
    """(windows, size) positions: each window lies within one sequence; short ends are left out."""
    starts: list[int] = []
    begin = 0
    for end in ends or [count]:
        starts += range(begin, end - size + 1, stride)
        begin = end
    return torch.tensor(starts, dtype=torch.int64).unsqueeze(1) + torch.arange(size)


def _compress(x: Tensor, weight: Tensor, windows: Tensor) -> Tensor:
    return (x[windows] * weight.unsqueeze(-1)).sum(1)


@operator()
def npu_nsa_select_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    topk_indices: Tensor,
    scale_value: float,
    head_num: int,
    select_block_size: int,
    select_block_count: int,
    *,
    atten_mask: Tensor | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    places, seen = _selected(query, key, topk_indices, select_block_size, atten_mask, actual_seq_qlen, actual_seq_kvlen)
    rounded = query.dtype  # the probabilities go into the second product in the type of the inputs
    out, top, total = _select(wide(query), wide(key), wide(value), places, seen, scale_value, rounded)
    eight = (*top.shape[:2], 8)
    return (
        out.to(query.dtype),
        top.float().expand(eight).contiguous(),
        total.float().expand(eight).contiguous(),
    )


@operator()
def npu_nsa_select_attention_grad(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_out: Tensor,
    softmax_max: Tensor,
    softmax_sum: Tensor,
    topk_indices: Tensor,
    scale_value: float,
    head_num: int,
    select_block_size: int,
    select_block_count: int,
    *,
    atten_mask: Tensor | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    places, seen = _selected(query, key, topk_indices, select_block_size, atten_mask, actual_seq_qlen, actual_seq_kvlen)
    dq, dk, dv = gradients(lambda q, k, v: _select(q, k, v, places, seen, scale_value)[0], [query, key, value], grad)
    return dq, dk, dv


def _selected(
    query: Tensor,
    key: Tensor,
    chosen: Tensor,
    size: int,
    mask: Tensor | None,
    query_ends: list[int] | None,
    key_ends: list[int] | None,
) -> tuple[Tensor, Tensor]:
    """Positions of the keys of each (token, key head), and which of them are seen."""
    rows = list(core._spans(query_ends or [query.shape[0]]))
    columns = list(core._spans(key_ends or [key.shape[0]]))
    starts = torch.zeros(query.shape[0], dtype=torch.int64)
    limits = torch.zeros(query.shape[0], dtype=torch.int64)
    local = torch.zeros(query.shape[0], dtype=torch.int64)
    for row, column in zip(rows, columns, strict=True):
        starts[row], limits[row] = column.start, column.stop
        local[row] = torch.arange(row.stop - row.start)
    offsets = (chosen.long().unsqueeze(-1) * size + torch.arange(size)).flatten(-2)
    places = starts.view(-1, 1, 1) + offsets
    seen = (chosen.repeat_interleave(size, -1) >= 0) & (places < limits.view(-1, 1, 1))
    if mask is not None:
        within = offsets.clamp(0, mask.shape[-1] - 1)
        seen &= ~mask.bool()[local.view(-1, 1, 1), within]
    return places.clamp(0, key.shape[0] - 1), seen


def _select(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    places: Tensor,
    seen: Tensor,
    scale: float,
    rounded: torch.dtype | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    tokens, heads = q.shape[:2]
    key_heads = k.shape[1]
    owner = torch.arange(key_heads).view(1, -1, 1)
    keys, values = k[places, owner], v[places, owner]
    grouped = q.view(tokens, key_heads, heads // key_heads, -1)
    x = grouped @ keys.transpose(-1, -2) * scale
    x = x.masked_fill(~seen.unsqueeze(2), float("-inf"))
    top = x.amax(-1, keepdim=True)
    weights = torch.exp(x - top)
    total = weights.sum(-1, keepdim=True)
    shares = weights / total
    out = (shares if rounded is None else shares.to(rounded).to(shares.dtype)) @ values
    return out.flatten(1, 2), top.flatten(1, 2), total.flatten(1, 2)
