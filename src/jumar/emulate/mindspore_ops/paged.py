"""Caches in pages, as MindSpore's kernels for inference keep and read them: ReshapeAndCache and PagedAttention.

Formulas: the documents of both in MindSpore 2.10 (`ops.auto_generate`), and its public tests: masks and position
biases are added to the scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .registry import NotEmulated, operator

_TRAPEZOID = 1


@operator("aclnnReshapeAndCache")
def reshape_and_cache(key: Any, value: Any, keys: Any, values: Any, slots: Any) -> Any:
    """Tokens go to their places in the caches; a place below zero is none. Deep models have one cache for both."""
    return _written(keys, key, slots), None if values is None else _written(values, value, slots), key


def _written(cache: Any, tokens: Any, slots: Any) -> Any:
    places = np.asarray(slots).reshape(-1).astype(np.int64)
    used = places >= 0
    room = int(np.prod(cache.shape[:2]))
    if (places >= room).any():
        raise NotEmulated(f"place {places.max()} in a cache of {room} is not emulated")
    out = np.array(cache)
    rows = out.reshape(room, -1)
    rows[places[used]] = np.reshape(tokens, (len(places), -1))[used]
    return out


@operator("aclnnPagedAttention")
def paged_attention(
    query: Any, keys: Any, values: Any, table: Any, lengths: Any, scale: Any, offset: Any, mask: Any,
    query_lengths: Any, bias: Any, heads: int, factor: float, key_heads: int, per_token: int, mask_mode: int,
    value_size: int,
) -> Any:  # fmt: skip
    """Each sequence looks at its own pages."""
    if per_token or (scale is not None and np.asarray(scale).dtype.kind != "f"):
        raise NotEmulated("caches with a factor for each token, or with factors in int64, is not emulated")
    tokens = np.reshape(query, (-1, heads, _size(keys, key_heads)))
    counts = _counts(query_lengths, len(tokens), len(table))
    found, begin = [], 0
    for number, count in enumerate(counts):
        length = int(np.reshape(lengths, -1)[number])
        q = tokens[begin : begin + count].transpose(1, 0, 2)
        k = _pages(_widened(keys, table[number], scale, offset, 0), length, key_heads)
        v = k[..., :value_size]
        if values is not None:
            v = _pages(_widened(values, table[number], scale, offset, 1), length, key_heads)
        k, v = (np.repeat(x, heads // key_heads, 0) for x in (k, v))
        scores = np.matmul(q, k.swapaxes(-1, -2)) * np.float32(factor)
        for added in (mask, bias):
            scores = scores + _part(added, number, begin, count, length)
        if mask_mode == _TRAPEZOID:
            later = np.arange(length) > np.arange(length - count, length)[:, None]
            scores = np.where(later, -np.inf, scores)
        found.append(np.matmul(special.softmax(scores, -1), v).transpose(1, 0, 2))
        begin += count
    return np.concatenate(found)


def _size(keys: Any, key_heads: int) -> int:
    """Of a head: the caches are (pages, places, heads, size), or have both as one."""
    return int(keys.shape[-1] if keys.ndim == 4 else keys.shape[-1] // key_heads)


def _counts(given: Any, tokens: int, sequences: int) -> list[int]:
    if given is not None and np.size(given):
        counts = [int(count) for count in np.reshape(given, -1)[:sequences]]
    else:
        counts = [tokens // sequences] * sequences
    if sum(counts) != tokens:
        raise NotEmulated(f"{tokens} tokens for sequences of {counts} is not emulated")
    return counts


def _widened(cache: Any, row: Any, scale: Any, offset: Any, which: int) -> Any:
    """The pages of one sequence: (pages, places, heads · size)."""
    pages = cache[np.asarray(row)[np.asarray(row) >= 0]]
    pages = pages.reshape(*pages.shape[:2], -1).astype(np.float32)
    if scale is None or not np.size(scale):
        return pages
    shift = 0 if offset is None or not np.size(offset) else np.reshape(offset, (2, -1))[which]
    return (pages + shift) * np.reshape(scale, (2, -1))[which]


def _pages(pages: Any, length: int, heads: int) -> Any:
    """(heads, places, size), without what is behind the end."""
    return pages.reshape(-1, heads, pages.shape[-1] // heads)[:length].transpose(1, 0, 2)


def _part(added: Any, number: int, begin: int, count: int, length: int) -> Any:
    """What belongs to a sequence: (…, sequences, rows, columns) or (…, all rows, columns)."""
    if added is None or not np.size(added):
        return 0
    whole = np.asarray(added)
    if whole.ndim == 4 or (whole.ndim == 3 and whole.shape[-2] == count):  # a batch comes first
        return whole[number if len(whole) > 1 else 0][..., :count, :length]
    return whole[..., begin : begin + count, :length]
