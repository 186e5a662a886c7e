"""What the attention operators of the ATB library share: masks that are added to the scores, pages of a cache.

Ascend/op-plugin op_plugin/ops/atb and op_plugin/python/atb/_atb_api_docs.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.integers import product

# SelfAttentionParam::MaskType of the vendor's header.
NO_MASK, NORM, ALIBI, NORM_COMPRESS, ALIBI_COMPRESS, ALIBI_SQRT, ALIBI_LEFT = 0, 1, 2, 3, 4, 5, 6
CAUSAL = 9


class Mask(NamedTuple):
    kind: int = NO_MASK
    values: Tensor | None = None
    slopes: Tensor | None = None


class Piece(NamedTuple):
    """One sequence of a call."""

    number: int
    first: int
    """Its first query among those of all sequences."""
    queries: int
    keys: int


def attention(q: Tensor, k: Tensor, v: Tensor, scale: float, bias: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """(rows, heads, size) on all sides; the result and the logarithm of each row's sum, (heads, rows), in float32."""
    x = per_head(q, k) * scale
    x = x if bias is None else x + bias
    lse = x.logsumexp(-1)
    weights = (x - lse.unsqueeze(-1)).exp()
    return torch.nan_to_num(weights @ wide(_spread(v, x.shape[0]))).transpose(0, 1), lse


def per_head(q: Tensor, k: Tensor) -> Tensor:
    """The products of (rows, heads, size) and (keys, heads, size): (heads, rows, keys)."""
    return wide(q).transpose(0, 1) @ wide(_spread(k, q.shape[1])).mT


def _spread(x: Tensor, heads: int) -> Tensor:
    """(heads, keys, size) of (keys, fewer heads, size)."""
    turned = x.transpose(0, 1)
    return turned if turned.shape[0] == heads else turned.repeat_interleave(heads // turned.shape[0], 0)


def attention_in_eight_bits(
    q: Tensor, k: Tensor, v: Tensor, scale: float, factors: tuple[Tensor, Tensor], more: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """As `attention`, with int8 operands, a factor per head for keys and values, and `more` added to the products.

    The weights become eight bits, too, relative to the largest of a row.
    """
    heads = q.shape[1]
    first, second = (wide(t).reshape(-1, 1, 1) for t in factors)
    x = product(q.transpose(0, 1), _spread(k, heads).mT).float() * first
    x = (x if more is None else x + more) * scale
    top = x.amax(-1, keepdim=True)
    weights = (x - top).exp()
    total, most = weights.sum(-1, keepdim=True), weights.amax(-1, keepdim=True)
    steps = (weights / (most / 127)).round()
    out = (steps.double() @ _spread(v, heads).double()).float() * second * most / 127 / total
    return out.transpose(0, 1), (top + total.log()).squeeze(-1)


def bias_of(mask: Mask, piece: Piece) -> Tensor | None:
    """What is added to the scores of one sequence: (heads or 1, queries, keys)."""
    if mask.kind == NO_MASK:
        return None
    if mask.kind in (NORM_COMPRESS, CAUSAL):
        return _causal(piece)
    if mask.kind in (ALIBI_COMPRESS, ALIBI_SQRT, ALIBI_LEFT):
        return _compressed(mask, piece)
    return None if mask.values is None else _given(mask, piece)


def _causal(piece: Piece) -> Tensor:
    distance = _distance(piece)
    return torch.zeros(1, piece.queries, piece.keys).masked_fill_(distance < 0, float("-inf"))


def _distance(piece: Piece) -> Tensor:
    """How far back a key lies; the last query is beside the last key."""
    rows = torch.arange(piece.queries).unsqueeze(1) + piece.keys - piece.queries
    return rows - torch.arange(piece.keys)


def _compressed(mask: Mask, piece: Piece) -> Tensor:
    """A bias that only depends on the distance: slopes times the distance, or the first column of a mask per head.

    The 256 x 256 mask beside slopes holds the distances as the kernel wants them, with their sign.
    """
    distance = _distance(piece)
    back = distance.clamp(min=0)
    if mask.values is not None and mask.values.dim() == 3:
        column = wide(mask.values)[:, :, 0]
        bias = column[:, back.clamp(max=column.shape[1] - 1)]
    else:
        if mask.slopes is None:
            raise RuntimeError("slopes are needed for a compressed alibi mask of 256 x 256")
        steps = back.sqrt() if mask.kind == ALIBI_SQRT else back.float()
        negative = mask.values is not None and bool(mask.values[-1, 0] < 0)
        bias = wide(mask.slopes).reshape(-1, 1, 1) * (-steps if negative else steps)
    return bias.masked_fill(distance < 0, float("-inf"))


def _given(mask: Mask, piece: Piece) -> Tensor:
    values = mask.values
    assert values is not None
    part = wide(values)
    if part.dim() == 4:
        part = part[piece.number if part.shape[0] > 1 else 0]
    elif part.dim() == 3 and mask.kind == NORM:
        part = part[piece.number if part.shape[0] > 1 else 0].unsqueeze(0)
    elif part.dim() == 2:
        part = part.unsqueeze(0)
    part = _rows(part, piece)[..., : piece.keys]
    if values.dtype == torch.bfloat16 and mask.kind == NORM:
        return torch.where(part > 0, float("-inf"), part)  # a bfloat16 mask says 1 for what is hidden
    return part


def _rows(part: Tensor, piece: Piece) -> Tensor:
    """The rows of a mask for the queries of a sequence: by position, or a row per query of the whole call."""
    rows = part.shape[-2]
    if rows == 1:
        return part
    if rows == part.shape[-1] or rows < piece.first + piece.queries:
        if piece.keys > piece.queries and rows >= piece.keys:
            return part[..., piece.keys - piece.queries : piece.keys, :]
        return part[..., : piece.queries, :]
    return part[..., piece.first : piece.first + piece.queries, :]


def pieces(queries: Sequence[int], keys: Sequence[int]) -> list[Piece]:
    found, first = [], 0
    for i, (rows, columns) in enumerate(zip(queries, keys)):
        found.append(Piece(i, first, rows, columns))
        first += rows
    return found


def heads_of(x: Tensor, heads: int) -> Tensor:
    """(tokens, heads, size) from that or from (tokens, heads * size)."""
    return x if x.dim() == 3 else x.reshape(x.shape[0], heads, -1)


def put(out: Tensor, found: Tensor) -> Tensor:
    """The rows beyond the sequences stay as they are."""
    rows = found.reshape(found.shape[0], -1).to(out.dtype)
    out.view(out.shape[0], -1)[: len(rows)] = rows
    return out


def ints(values: Any) -> list[int]:
    return [int(item) for item in values.flatten().tolist()] if isinstance(values, Tensor) else [int(n) for n in values]


def page_rows(cache: Tensor, table: Tensor, length: int, heads: int) -> Tensor:
    """The first `length` rows of one sequence, (length, heads, size), from its pages."""
    if cache.dim() == 4 and _is_tiled(cache):
        cache = cache.permute(0, 2, 1, 3).flatten(2)
    pages = cache if cache.dim() == 4 else cache.reshape(*cache.shape[:2], heads, -1)
    size = pages.shape[1]
    used = table[: -(-length // size)].long()
    return pages[used].flatten(0, 1)[:length]


def _is_tiled(cache: Tensor) -> bool:
    """(pages, width / 16, rows, 16): the shape of a fractal format, kept plain."""
    return bool(cache.shape[-1] == 32 // cache.element_size() and cache.shape[2] >= 16)


def mode(known: dict[str, int], given: str | None, default: str, name: str) -> int:
    """The number of a mode that is named by a word."""
    if (given or default) not in known:
        raise RuntimeError(f"Unsupported {name} value: '{given}'")
    return known[given or default]
