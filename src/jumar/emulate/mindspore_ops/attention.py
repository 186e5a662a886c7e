"""Attention in one operator: for training with its gradient, and for inference.

Sparse modes as documented for npu_fusion_attention (Ascend/op-plugin, docs/zh/custom_APIs): compressed masks of
2048 x 2048 only say "causal", the mode says how the triangle lies.
"""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple

import numpy as np

from .registry import NotEmulated


class Call(NamedTuple):
    """What all versions of the operator share."""

    heads: int
    layout: str
    scale: float
    mask: Any = None
    mode: int = 0
    before: int = 2**31 - 1
    after: int = 2**31 - 1
    prefix: Any = None
    bias: Any = None
    bias_inside: bool = False  # added before the scores are scaled
    dropped: Any = None  # a bit for each score that stays
    keep: float = 1.0
    query_ends: Any = None
    key_ends: Any = None
    precise: int = 0  # from 2 on, rows that are hidden as a whole become zero
    steps: Any = None  # of eight bits: what the weights are multiplied by before the second product, and its result


def to_heads(x: Any, heads: int, layout: str) -> Any:
    """(batch, heads, rows, size), a view of the same memory."""
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return x.transpose(0, 2, 1, 3)
    if layout in ("BSH", "SBH"):
        x = x if layout == "BSH" else x.transpose(1, 0, 2)
        return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(0, 2, 1, 3)
    if layout == "TND":
        return x.transpose(1, 0, 2)[None]
    raise NotEmulated(f"layout {layout} is not emulated")


def from_heads(x: Any, layout: str) -> Any:
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return x.transpose(0, 2, 1, 3)
    if layout == "TND":
        return x[0].transpose(1, 0, 2)
    x = x.transpose(0, 2, 1, 3)
    x = x.reshape(x.shape[0], x.shape[1], -1)
    return x if layout == "BSH" else x.transpose(1, 0, 2)


def _hidden(call: Call, batch: int, rows: int, columns: int) -> Any:
    """True where a key is not seen; without a mask all are, whatever `before` and `after` say."""
    if call.mask is None or not np.size(call.mask):
        return None
    far = np.arange(columns) - np.arange(rows)[:, None]
    shift = columns - rows
    if call.mode == 2:
        return far > 0
    if call.mode in (3, 7):
        return far > shift
    if call.mode == 4:
        return (far > call.after + shift) | (far < -(call.before - shift))
    if call.mode == 6:
        return (far > shift) & (np.arange(columns) >= (call.prefix or [0])[batch])
    if call.mode == 8:
        raise NotEmulated("sparse_mode 8 is not emulated")
    given = np.asarray(call.mask)
    if given.dtype.kind == "f" and not np.isin(given, (0, 1)).all():
        raise NotEmulated("a mask of numbers that are added to the scores is not emulated")
    mask = given.astype(bool)
    if mask.ndim > 2:
        mask = mask[batch if mask.shape[0] > 1 else 0]
    return mask[..., :rows, :columns]


class _Piece(NamedTuple):
    """One sequence: which batch, rows and columns it takes."""

    batch: int
    rows: slice
    columns: slice
    number: int


def _pieces(call: Call, query: Any, key: Any) -> Iterator[_Piece]:
    if call.layout != "TND":
        for batch in range(query.shape[0]):
            yield _Piece(batch, slice(None), slice(None), batch)
        return
    starts = zip([0, *call.query_ends[:-1]], call.query_ends, [0, *call.key_ends[:-1]], call.key_ends)
    for number, (a, b, c, d) in enumerate(starts):
        yield _Piece(0, slice(a, b), slice(c, d), number)


def _scores(call: Call, q: Any, k: Any, piece: _Piece) -> Any:
    x = np.matmul(q.astype(np.float32), k.astype(np.float32).swapaxes(-1, -2))
    bias = None
    if call.bias is not None and np.size(call.bias):
        whole = call.bias
        bias = whole[piece.number if whole.shape[0] > 1 else 0][..., -x.shape[-2] :, : x.shape[-1]]
    if bias is not None and call.bias_inside:
        x = (x + bias) * np.float32(call.scale)
    else:
        x = x * np.float32(call.scale) + (0 if bias is None else bias)
    unseen = _hidden(call, piece.number, x.shape[-2], x.shape[-1])
    return x if unseen is None else np.where(unseen, _lowest(call), x)


def _lowest(call: Call) -> np.float32:
    """Of a hidden score: the smallest number, so that a row without any other takes the mean of all values.

    That is the kernel of ops-transformer (2026-08): only `innerPrecise` 2, and the modes that say themselves where such
    rows are, make them zero.
    """
    return np.float32(-np.inf) if call.precise >= 2 or call.mode not in (0, 1) else np.finfo(np.float32).min


def _softmax(x: Any) -> tuple[Any, Any, Any]:
    top = x.max(-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    e = np.exp(x - top)
    total = e.sum(-1, keepdims=True)
    return np.where(total > 0, e / np.where(total > 0, total, 1), 0), top, total


def _repeated(x: Any, heads: int) -> Any:
    return x if x.shape[0] == heads else np.repeat(x, heads // x.shape[0], 0)


def _kept(call: Call, shape: tuple[int, ...], done: int) -> Any:
    """The factor of each score under dropout; `done` scores came before."""
    if call.keep >= 1 or call.dropped is None or not np.size(call.dropped):
        return None
    count = int(np.prod(shape))
    bits = np.unpackbits(np.ascontiguousarray(call.dropped).view(np.uint8).reshape(-1), bitorder="little")
    return bits[done : done + count].reshape(shape).astype(np.float32) / np.float32(call.keep)


def _inputs(call: Call, query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
    q = to_heads(query, call.heads, call.layout)
    inner = call.heads
    if call.layout in ("BSH", "SBH"):
        inner = key.shape[-1] // q.shape[-1]
    k = to_heads(key, inner, call.layout)
    return q, k, to_heads(value, inner, call.layout)


def forward(call: Call, query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
    """The result in its layout; the largest score and the sum of each row."""
    q, k, v = _inputs(call, query, key, value)
    out = np.zeros((*q.shape[:-1], v.shape[-1]), np.float32)
    top, total = np.zeros((*q.shape[:-1], 1), np.float32), np.zeros((*q.shape[:-1], 1), np.float32)
    done = 0
    for piece in _pieces(call, q, k):
        at = (piece.batch, slice(None), piece.rows)
        keys, values = (_repeated(x[piece.batch][:, piece.columns], q.shape[1]) for x in (k, v))
        weights, top[at], total[at] = _softmax(_scores(call, q[at], keys, piece))
        factor = _kept(call, weights.shape, done)
        done += weights.size
        if call.steps is None:
            out[at] = np.matmul(weights if factor is None else weights * factor, values)
        else:
            out[at] = _in_steps(call.steps, weights, total[at], values)
    return from_heads(out, call.layout), top, total


def _in_steps(steps: Any, weights: Any, total: Any, values: Any) -> Any:
    """The weights are rounded to eight bits before they are divided by their sum."""
    rounded = np.clip(np.rint(weights * total * steps[0]), -128, 127)
    return np.matmul(rounded, values.astype(np.float32)) * steps[1] / np.where(total > 0, total, 1)


def backward(call: Call, query: Any, key: Any, value: Any, grad: Any) -> tuple[Any, Any, Any]:
    q, k, v = _inputs(call, query, key, value)
    g = to_heads(grad, call.heads, call.layout)
    to_q, to_k, to_v = (np.zeros(x.shape, np.float32) for x in (q, k, v))
    done = 0
    for piece in _pieces(call, q, k):
        at, columns = (piece.batch, slice(None), piece.rows), (piece.batch, slice(None), piece.columns)
        keys, values = _repeated(k[columns], q.shape[1]), _repeated(v[columns], q.shape[1])
        weights, _, _ = _softmax(_scores(call, q[at], keys, piece))
        factor = _kept(call, weights.shape, done)
        done += weights.size
        used = weights if factor is None else weights * factor
        mean = _sum_of_pairs(g[at] * np.matmul(used, values))
        slope = _wide_product(g[at], values.swapaxes(-1, -2)) * (1 if factor is None else factor)
        slope = weights * (slope - mean) * np.float32(call.scale)
        to_q[at] = np.matmul(slope, keys)
        to_k[columns] += _gathered(np.matmul(slope.swapaxes(-1, -2), q[at]), k.shape[1])
        to_v[columns] += _gathered(np.matmul(used.swapaxes(-1, -2), g[at]), v.shape[1])
    return from_heads(to_q, call.layout), from_heads(to_k, call.layout), from_heads(to_v, call.layout)


def _wide_product(x: Any, y: Any) -> Any:
    """As the matrix unit sums: rounded once."""
    return np.matmul(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)


def _sum_of_pairs(x: Any) -> Any:
    """Over the last axis, as the vector unit sums: neighbours first, rounded at every step."""
    while x.shape[-1] > 1:
        odd = x[..., -1:] if x.shape[-1] % 2 else x[..., :0]
        x = np.concatenate([x[..., 0 : x.shape[-1] - 1 : 2] + x[..., 1::2], odd], -1)
    return x


def _gathered(x: Any, heads: int) -> Any:
    """The sum over the heads that share a key."""
    return x if x.shape[0] == heads else x.reshape(heads, -1, *x.shape[1:]).sum(1)


def eight(x: Any, layout: str) -> Any:
    """As the device has it: each value eight times; tokens first in TND."""
    x = np.repeat(x, 8, -1)
    return x[0].transpose(1, 0, 2) if layout == "TND" else x
