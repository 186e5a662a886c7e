"""Rotary position embedding."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..formulas import rotary as formulas
from .registry import NotEmulated, operator


@operator("aclnnRotaryPositionEmbedding")
def rotate(x: Any, cos: Any, sin: Any, mode: int) -> Any:
    return formulas.rotate(x, cos, sin, _order(mode))


def _order(mode: int) -> str:
    if not 0 <= mode < len(formulas.MODES):
        raise NotEmulated(f"mode {mode} is not emulated")
    return formulas.MODES[mode]


@operator("aclnnRotaryPositionEmbeddingGrad")
def rotate_backward(grad: Any, cos: Any, sin: Any, x: Any, mode: int) -> Any:
    if x is None or not x.size:
        return formulas.rotate_back(grad, cos, sin, _order(mode)), None, None
    return formulas.rotate_backward(grad, x, cos, sin, _order(mode))


@operator("aclnnApplyRotaryPosEmb")
def rotate_both(query: Any, key: Any, cos: Any, sin: Any, given: Any, form: int) -> Any:
    """As MindSpore's and MindFormers' public tests have it: odd forms turn neighbours.

    Forms 0 and 1 are given the places of tokens in a table; the others the lengths of sequences, with angles of each
    token, or of each place.
    """
    find = _by_length if form >= 2 else _by_place
    return tuple(_rotate_heads(x, cos, sin, find, given, form % 2) for x in (query, key))


def _rotate_heads(x: Any, cos: Any, sin: Any, find: Any, given: Any, mode: int) -> Any:
    """`x` is (…, tokens, heads · size) or (…, tokens, heads, size)."""
    size = cos.shape[-1]
    last = 2 if x.ndim == 4 else 1
    batch, tokens = x.shape[0] if x.ndim > 2 else 1, x.shape[-1 - last]
    angles = [one.reshape(-1, size) for one in (cos, sin)]
    rows = find(np.asarray(given).reshape(-1).astype(np.int64), batch, tokens, len(angles[0]))
    heads = x.reshape(batch * tokens, -1, size)
    return rotate(heads, *(one[rows][:, None] for one in angles), mode).reshape(x.shape)


def _by_place(places: Any, batch: int, tokens: int, rows: int) -> Any:
    """A place for each token, or for those of one sequence, which all share; or lengths of whole sequences."""
    if len(places) == batch and tokens not in (1, batch):
        places = np.arange(tokens)
    found = places if len(places) == batch * tokens else np.tile(places, batch)
    return _checked(found, batch * tokens, rows)


def _by_length(lengths: Any, batch: int, tokens: int, rows: int) -> Any:
    """Each token has a row of its own, or counts from the begin of its sequence."""
    if rows == batch * tokens:
        return np.arange(rows)
    if lengths.sum() == batch * tokens:
        return _checked(np.concatenate([np.arange(length) for length in lengths]), batch * tokens, rows)
    return _checked(np.tile(np.arange(tokens), batch), batch * tokens, rows)


def _checked(found: Any, tokens: int, rows: int) -> Any:
    if len(found) != tokens or (found >= rows).any():
        raise NotEmulated(f"{rows} angles for {tokens} tokens is not emulated")
    return found
