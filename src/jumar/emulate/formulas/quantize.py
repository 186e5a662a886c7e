"""Quantisation to integers: scales of rows from their largest value (dynamic), and rounding half to even."""

from __future__ import annotations

from .namespace import A, namespace

INT8 = (-128, 127)


def to_steps(x: A, limits: tuple[int, int] = INT8) -> A:
    """Rounded half to even and kept within the type; still floating numbers."""
    xp = namespace(x)
    return xp.clip(xp.round(x), *limits)


def scale_of(x: A, axis: int | None = -1, top: float = INT8[1]) -> A:
    """What makes `top` of the largest magnitude along the axis, which stays, or of all where there is no axis."""
    xp = namespace(x)
    axes = tuple(range(x.ndim)) if axis is None else axis
    return xp.max(xp.abs(x), axes, keepdims=axis is not None) / top


def divide(x: A, scale: A) -> A:
    """Zero where the scale is: a row of zeros has no largest value."""
    xp = namespace(x)
    return xp.where(scale == 0, xp.zeros_like(x), x / scale)


def by_rows(x: A, axis: int | None = -1, top: float = INT8[1]) -> tuple[A, A]:
    """The quotients, to be rounded, and their scales, whose axis stays."""
    scale = scale_of(x, axis, top)
    return divide(x, scale), scale
