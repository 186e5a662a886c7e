"""Attention for inference: lengths, pages, quantised caches and layouts, in the words that all operators share.

Ascend/op-plugin docs/zh/custom_APIs/torch_npu-npu_fused_infer_attention_score.md and its relatives.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from jumar.core.compat import zip
from jumar.emulate.torch_ops import attention_cache as cache
from jumar.emulate.torch_ops.attention import Bias, Piece, as_list, scores, softmax, to_heads
from jumar.emulate.torch_ops.attention_mask import Sparse, hidden
from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.integers import to_integers, unpack_scale
from jumar.emulate.torch_ops.registry import not_emulated


class Request(NamedTuple):
    """The arguments of a call, under the names that all versions share."""

    name: str
    """Of the operator."""
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
    steps: tuple[Tensor | None, ...] = ()
    """Of queries, keys and values of eight bits: factors of the scores, of the weights and of their product."""


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


def _one(r: Request, index: int, q: Tensor, k: Tensor, v: Tensor, place: tuple[int, int]) -> tuple[Tensor, Tensor]:
    q, k, v = wide(q), wide(k), wide(v)
    if k.shape[0] != r.heads:
        k, v = (t.repeat_interleave(r.heads // t.shape[0], 0) for t in (k, v))
    steps = _steps(r)
    scale = r.scale if steps is None else r.scale * steps[0]
    x = scores(q, k, scale, Bias(_pse(r.pse, q, k), 0), Piece(index, place, slice(0), slice(0)))
    unseen = hidden(r.mask, r.sparse, index, q.shape[1], k.shape[1], place)
    weights, top, total = softmax(x if unseen is None else x.masked_fill(unseen, r.sparse.lowest), r.sink)
    lse = torch.where(total > 0, top + total.log(), torch.full_like(top, float("inf")))
    if steps is None:
        return weights @ v, lse
    rounded = (weights * total * steps[1]).round().clamp(-128, 127)  # before they are divided by their sum
    return rounded @ v * steps[2] / torch.where(total > 0, total, torch.ones_like(total)), lse


def _steps(r: Request) -> list[float] | None:
    given = [one for one in r.steps if one is not None]
    if not given:
        return None
    if len(given) < len(r.steps) or any(one.numel() != 1 for one in given):
        raise not_emulated(r.name, "with scales of channels, or without some of them")
    return [unpack_scale(one).item() for one in given]


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
        values = cache.dequantised(r.name, values, scale, offset, mode)
        counts = lengths or [values.shape[2]]
        return [b[:, : counts[i if len(counts) > 1 else 0]] for i, b in enumerate(values)]
    else:
        parts = _sequences(x, heads, layout, lengths, True)
    if scale is None:
        return parts
    return [cache.dequantised(r.name, p.unsqueeze(0), scale, offset, mode)[0] for p in parts]


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
        whole = laid_out(torch.stack(padded), target or source)
    if r.out_scale is not None:
        y = whole * _channels(r.out_scale, r.heads, target or source)
        y = y if r.out_offset is None else y + _channels(r.out_offset, r.heads, target or source)
        return to_integers(y, torch.int8)
    return whole.contiguous().to(dtype)


def _channels(factors: Tensor, heads: int, layout: str) -> Tensor:
    """One number, or one for each channel of each head, in whatever shape they come."""
    if factors.numel() == 1:
        return wide(factors).reshape(())
    if layout == "BSH":
        return wide(factors).reshape(-1)
    if layout == "NBSD":
        return wide(factors).reshape(heads, 1, 1, -1)
    return wide(factors).reshape((heads, -1) if layout in ("BSND", "TND") else (heads, 1, -1))


def laid_out(x: Tensor, layout: str) -> Tensor:
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


def refuse_given(name: str, **given: Any) -> None:
    used = [key for key, value in given.items() if value is not None and value is not False]
    if used:
        raise not_emulated(name, f"with `{used[0]}`")
