"""Rotary position embedding (arXiv 2104.09864): pairs of values turned by an angle, in four orders of the pairs.

CANN's RotaryPositionEmbedding (9.0): `half` pairs the first half of an array with the second, `interleave` neighbours,
`quarter` does `half` in both halves; `interleave-half` takes neighbours on the way in and gives halves.
"""

from __future__ import annotations

from .namespace import A, namespace

MODES = ("half", "interleave", "quarter", "interleave-half")
"""In the order of the vendor's numbers."""


def rotate(x: A, cos: A, sin: A, mode: str = "half") -> A:
    """The rotated pairs; `cos` and `sin` spread over `x`."""
    x, mode = _ordered(x, mode)
    return x * cos + quarter_turn(x, mode) * sin


def rotate_backward(grad: A, x: A, cos: A, sin: A, mode: str = "half") -> tuple[A, A, A]:
    """For `x`, `cos` and `sin`."""
    ordered, order = _ordered(x, mode)
    to_cos, to_sin = _summed(grad * ordered, cos), _summed(grad * quarter_turn(ordered, order), sin)
    return rotate_back(grad, cos, sin, mode), to_cos, to_sin


def rotate_back(grad: A, cos: A, sin: A, mode: str = "half") -> A:
    """The gradient for `x`: a turn is orthogonal, its transpose is its negative."""
    to_x = grad * cos - quarter_turn(grad * sin, "half" if mode == MODES[3] else mode)
    return interleaved(to_x) if mode == MODES[3] else to_x


def quarter_turn(x: A, mode: str) -> A:
    """Each pair turned by 90°, the second member negated and first: `half`, `interleave` or `quarter`."""
    xp = namespace(x)
    if mode == "half":
        left, right = xp.split(x, 2, -1)
        return xp.concat([-right, left], -1)
    if mode == "interleave":
        return _as_neighbours(-x[..., 1::2], x[..., ::2])
    a, b, c, d = xp.split(x, 4, -1)
    return xp.concat([-b, a, -d, c], -1)


def halved(x: A) -> A:
    """Neighbours to halves: the first members of all pairs, then the second ones."""
    return namespace(x).concat([x[..., ::2], x[..., 1::2]], -1)


def interleaved(x: A) -> A:
    """Halves to neighbours."""
    first, second = namespace(x).split(x, 2, -1)
    return _as_neighbours(first, second)


def _ordered(x: A, mode: str) -> tuple[A, str]:
    return (halved(x), "half") if mode == MODES[3] else (x, mode)


def _as_neighbours(first: A, second: A) -> A:
    xp = namespace(first)
    return xp.reshape(xp.stack([first, second], -1), (*first.shape[:-1], 2 * first.shape[-1]))


def _summed(x: A, like: A) -> A:
    """The gradient of what was spread over more axes, or over longer ones."""
    xp = namespace(x)
    extra = x.ndim - like.ndim
    x = xp.sum(x, tuple(range(extra))) if extra else x
    axes = tuple(axis for axis, size in enumerate(like.shape) if size == 1 and x.shape[axis] != 1)
    return xp.sum(x, axes, keepdims=True) if axes else x
