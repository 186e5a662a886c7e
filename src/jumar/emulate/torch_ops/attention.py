"""The attention formula and its gradients, for all layouts; attention_training.py has the operators.

attention_out = dropout(softmax(mask(scale * (pse + query @ key^T)))) @ value, Ascend/op-plugin
docs/zh/custom_APIs/torch_npu-npu_fusion_attention.md. Rows without any visible key give zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from jumar.core.compat import zip
from jumar.emulate.torch_ops import random_bits
from jumar.emulate.torch_ops.attention_mask import Sparse, hidden
from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.registry import not_emulated

_LAYOUTS = ("BSH", "SBH", "BNSD", "BSND", "TND")


class Bias(NamedTuple):
    pse: Tensor | None = None
    kind: int = 1  # 0 scales before adding, 1 after; 2 and 3 make ALiBi from slopes
    starts: tuple[int, int] = (0, 0)


class Piece(NamedTuple):
    """One sequence of one batch: heads first, keys and values repeated to the heads of the query."""

    batch: int
    place: tuple[int, int]
    rows: slice
    columns: slice


class Problem(NamedTuple):
    query: Tensor  # (batch or 1, heads, positions, size)
    key: Tensor
    value: Tensor
    pieces: list[Piece]
    layout: str
    heads: int


def problem(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    heads: int,
    layout: str,
    query_ends: list[int] | None,
    key_ends: list[int] | None,
) -> Problem:
    """Takes a layout apart. In TND all sequences lie one behind the other; the ends say where each stops."""
    layout = layout.upper()
    if layout not in _LAYOUTS:
        raise RuntimeError(f"The input_layout should be BSH/SBH/BNSD/BSND/TND(case-insensitive), but got {layout}")
    size = _head_size(query, heads, layout)
    key_heads = key.shape[-1] // size if layout in ("BSH", "SBH") else 0
    q, k, v = (
        to_heads(query, heads, layout),
        to_heads(key, key_heads, layout),
        to_heads(value, key_heads, layout),
    )
    if layout == "TND":
        if not query_ends or not key_ends:
            raise RuntimeError("actual_seq_qlen and actual_seq_kvlen are needed when input_layout is TND")
        rows, columns = list(_spans(query_ends)), list(_spans(key_ends))
        pieces = [Piece(0, (i, len(rows)), r, c) for i, (r, c) in enumerate(zip(rows, columns, strict=True))]
    else:
        whole = slice(0, q.shape[2]), slice(0, k.shape[2])
        pieces = [Piece(b, (0, 1), *whole) for b in range(q.shape[0])]
    return Problem(q, k, v, pieces, layout, q.shape[1])


def _head_size(query: Tensor, heads: int, layout: str) -> int:
    return int(query.shape[-1] // heads if layout in ("BSH", "SBH") else query.shape[-1])


def _spans(ends: list[int]) -> Iterator[slice]:
    start = 0
    for end in ends:
        yield slice(start, max(start, end))
        start = max(start, end)


def to_heads(x: Tensor, heads: int, layout: str) -> Tensor:
    """Any layout as (batch, heads, positions, size)."""
    if layout == "BSH":
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)
    if layout == "SBH":
        return x.unflatten(-1, (heads, -1)).permute(1, 2, 0, 3)
    if layout == "BSND":
        return x.transpose(1, 2)
    if layout == "TND":
        return x.transpose(0, 1).unsqueeze(0)
    return x


def from_heads(x: Tensor, layout: str) -> Tensor:
    if layout == "BSH":
        return x.transpose(1, 2).flatten(2)
    if layout == "SBH":
        return x.permute(2, 0, 1, 3).flatten(2)
    if layout == "BSND":
        return x.transpose(1, 2).contiguous()
    if layout == "TND":
        return x.squeeze(0).transpose(0, 1).contiguous()
    return x.contiguous()


def scores(q: Tensor, k: Tensor, scale: float, bias: Bias, piece: Piece) -> Tensor:
    product = q @ k.transpose(-1, -2)
    if bias.pse is None:
        return product * scale
    if bias.kind >= 2:
        return product * scale + _alibi(bias, piece, product)
    added = _pse_part(bias.pse, piece, product)
    return (product + added) * scale if bias.kind == 1 else product * scale + added


def _alibi(bias: Bias, piece: Piece, product: Tensor) -> Tensor:
    assert bias.pse is not None
    rows, columns = product.shape[-2:]
    distance = torch.arange(columns) + bias.starts[1] - (torch.arange(rows).unsqueeze(1) + bias.starts[0])
    steps = distance.abs().to(product.dtype)
    slopes = wide(bias.pse)
    slopes = (slopes[piece.batch] if slopes.dim() == 2 else slopes).view(-1, 1, 1)
    return -slopes * (steps.sqrt() if bias.kind == 3 else steps)


def _pse_part(pse: Tensor, piece: Piece, product: Tensor) -> Tensor:
    rows, columns = product.shape[-2:]
    part = wide(pse)
    if part.dim() == 4:
        index = piece.place[0] if piece.place[1] > 1 else piece.batch
        part = part[index if part.shape[0] > 1 else 0]
    if part.shape[-2] not in (1, rows):
        raise not_emulated("npu_fusion_attention", "with a `pse` that has fewer rows than the query")
    return part[..., :columns].to(product.dtype)


def softmax(x: Tensor, sink: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Probabilities, maximum and sum; a sink is one more score that takes part in the sum only."""
    top = x.amax(-1, keepdim=True) if x.shape[-1] else x.new_full((*x.shape[:-1], 1), float("-inf"))
    if sink is not None:
        top = torch.maximum(top, sink.to(x.dtype).view(-1, 1, 1))
    safe = top.masked_fill(top == float("-inf"), 0)
    weights = torch.exp(x - safe)
    total = weights.sum(-1, keepdim=True)
    if sink is not None:
        total = total + torch.exp(sink.to(x.dtype).view(-1, 1, 1) - safe)
    return weights / total.masked_fill(total == 0, 1), top, total


def _group(k: Tensor, heads: int) -> Tensor:
    return k if k.shape[0] == heads else k.repeat_interleave(heads // k.shape[0], 0)


def _fold(gradient: Tensor, heads: int) -> Tensor:
    return gradient if gradient.shape[0] == heads else gradient.unflatten(0, (heads, -1)).sum(1)


class Dropout(NamedTuple):
    keep: float = 1.0
    bits: Tensor | None = None  # all sequences, one behind the other

    def part(self, start: int, shape: torch.Size) -> Tensor | None:
        if self.bits is None:
            return None
        return self.bits[start : start + shape.numel()].view(shape) / self.keep


class Extras(NamedTuple):
    """What forward and backward have in common beside the three tensors."""

    scale: float
    bias: Bias
    mask: Tensor | None
    sparse: Sparse
    dropout: Dropout
    sink: Tensor | None
    softmax_layout: str


def _walk(p: Problem, e: Extras) -> Iterator[tuple[Piece, int, Tensor, Tensor, Tensor, Tensor]]:
    start = 0
    for piece in p.pieces:
        q = wide(p.query[piece.batch, :, piece.rows])
        k = _group(wide(p.key[piece.batch, :, piece.columns]), p.heads)
        v = _group(wide(p.value[piece.batch, :, piece.columns]), p.heads)
        x = scores(q, k, e.scale, e.bias, piece)
        index = piece.place[0] if p.layout == "TND" else piece.batch
        unseen = hidden(e.mask, e.sparse, index, q.shape[1], k.shape[1], piece.place)
        yield piece, start, q, k, v, x if unseen is None else x.masked_fill(unseen, e.sparse.lowest)
        start += x.numel()


def forward(p: Problem, e: Extras) -> tuple[Tensor, Tensor, Tensor]:
    """The result, and maximum and sum of the softmax, each eight times as the device keeps it."""
    out = torch.zeros((*p.query.shape[:3], p.value.shape[-1]), dtype=p.query.dtype)
    tops, totals = [], []
    for piece, start, _, _, v, x in _walk(p, e):
        weights, top, total = softmax(x, e.sink)
        kept = e.dropout.part(start, weights.shape)
        out[piece.batch, :, piece.rows] = ((weights if kept is None else weights * kept) @ v).to(out.dtype)
        tops.append(top)
        totals.append(total)
    return from_heads(out, p.layout), _join(tops, p, e), _join(totals, p, e)


def _join(parts: list[Tensor], p: Problem, e: Extras) -> Tensor:
    wide_parts = [part.float().expand(*part.shape[:2], 8) for part in parts]
    if p.layout != "TND":
        return torch.stack(wide_parts)
    if e.softmax_layout == "TND":
        return torch.cat([part.transpose(0, 1) for part in wide_parts])
    # By default each sequence keeps heads first, although the shape says (T, N, 8).
    flat = torch.cat([part.reshape(-1) for part in wide_parts])
    count = p.query.shape[2] * p.heads * 8
    return torch.nn.functional.pad(flat, (0, count - flat.numel())).view(p.query.shape[2], p.heads, 8)


def _part_of(kept: Tensor, piece: Piece, p: Problem, e: Extras) -> Tensor:
    """The first of the eight copies, as (heads, rows, 1), of a softmax maximum or sum."""
    if p.layout != "TND":
        return kept[piece.batch, :, :, :1]
    if e.softmax_layout == "TND":
        return kept[piece.rows].transpose(0, 1)[..., :1]
    start, count = piece.rows.start * p.heads * 8, (piece.rows.stop - piece.rows.start) * p.heads * 8
    return kept.reshape(-1)[start : start + count].view(p.heads, -1, 8)[..., :1]


def backward(
    p: Problem, e: Extras, dy: Tensor, out: Tensor | None, top: Tensor | None, total: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
    """Gradients of query, key, value (heads first), pse and sink.

    Maximum, sum and result are the caller's where given: ring attention passes those of the whole sequence.
    """
    dq, dk, dv = (torch.zeros(t.shape, dtype=wide(t).dtype) for t in (p.query, p.key, p.value))
    dpse = None if e.bias.pse is None else torch.zeros(e.bias.pse.shape, dtype=wide(e.bias.pse).dtype)
    dsink = None if e.sink is None else torch.zeros_like(e.sink)
    d_heads = to_heads(dy, p.heads, p.layout)
    out_heads = None if out is None else to_heads(out, p.heads, p.layout)
    for piece, start, q, k, v, x in _walk(p, e):
        d = wide(d_heads[piece.batch, :, piece.rows])
        weights, own_top, own_total = softmax(x, e.sink)
        if top is not None and total is not None:
            own_top, own_total = (_part_of(t, piece, p, e).to(x.dtype) for t in (top, total))
            weights = torch.exp(x - own_top) / own_total
            weights = weights.masked_fill((x == float("-inf")) | (own_total == 0), 0)
        kept = e.dropout.part(start, weights.shape)
        dropped = weights if kept is None else weights * kept
        dropped_grad = d @ v.transpose(-1, -2)
        dweights = dropped_grad if kept is None else dropped_grad * kept
        own_out = dropped @ v if out_heads is None else wide(out_heads[piece.batch, :, piece.rows])
        inner = (d * own_out).sum(-1, keepdim=True)
        dx = weights * (dweights - inner)
        dq[piece.batch, :, piece.rows] += dx @ k * e.scale
        dk[piece.batch, :, piece.columns] += _fold(dx.transpose(-1, -2) @ q * e.scale, p.key.shape[1])
        dv[piece.batch, :, piece.columns] += _fold(dropped.transpose(-1, -2) @ d, p.value.shape[1])
        if dpse is not None and e.bias.kind < 2:
            target = dpse[piece.batch : piece.batch + 1] if dpse.shape[0] > 1 else dpse
            target += (dx * (e.scale if e.bias.kind == 1 else 1)).unsqueeze(0).sum_to_size(target.shape)
        if dsink is not None and e.sink is not None:
            share = torch.exp(e.sink.to(x.dtype).view(-1, 1, 1) - own_top) / own_total
            dsink -= (share * inner).sum((1, 2)).to(dsink.dtype)
    return dq, dk, dv, dpse, dsink


def count_scores(p: Problem) -> int:
    return sum(
        (piece.rows.stop - piece.rows.start) * (piece.columns.stop - piece.columns.start) * p.heads
        for piece in p.pieces
    )


def make_dropout(keep_prob: float, count: int, seed: int, offset: int, given: Tensor | None = None) -> Dropout:
    if keep_prob == 1:
        return Dropout()
    if given is not None and given.numel():
        return Dropout(keep_prob, random_bits.unpack(given, count))
    # Through the packed form: the same bits as _npu_dropout_gen_mask gives for the same seed.
    return Dropout(keep_prob, random_bits.keep_bits(count, 1 - keep_prob, seed, offset))


def with_rope(x: Tensor, rope: Tensor | None, heads: int, layout: str) -> Tensor:
    if rope is None:
        return x
    if layout in ("BSH", "SBH"):
        parts = [t.unflatten(-1, (heads, -1)) for t in (x, rope)]
        return torch.cat(parts, -1).flatten(-2)
    return torch.cat([x, rope], -1)


def as_list(lengths: Any) -> list[int] | None:
    if lengths is None:
        return None
    return [int(n) for n in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]
