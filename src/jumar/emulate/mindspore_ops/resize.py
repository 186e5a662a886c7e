"""Resizing along each axis by a matrix; its gradient is the transposed matrix."""

from __future__ import annotations

import functools
from typing import Any, Callable

import numpy as np

from .registry import operator

Axis = Callable[[int, int, bool, float], Any]


def _places(size: int, out: int, corners: bool, scale: float) -> Any:
    """Where each output lies in the input."""
    if corners:
        return np.arange(out) * ((size - 1) / (out - 1) if out > 1 else 0.0)
    step = 1 / scale if scale > 0 else size / out
    return (np.arange(out) + 0.5) * step - 0.5


def nearest(size: int, out: int, _: bool, scale: float) -> Any:
    step = np.float32(1 / scale if scale > 0 else size / out)
    index = np.minimum(np.floor(np.arange(out, dtype=np.float32) * step).astype(np.int64), size - 1)
    return np.eye(size, dtype=np.float32)[index]


def linear(size: int, out: int, corners: bool, scale: float) -> Any:
    at = np.maximum(_places(size, out, corners, scale), 0)
    low = np.minimum(at.astype(np.int64), size - 1)
    part = (at - low)[:, None]
    eye = np.eye(size)
    return ((1 - part) * eye[low] + part * eye[np.minimum(low + 1, size - 1)]).astype(np.float32)


def cubic(size: int, out: int, corners: bool, scale: float) -> Any:
    at = _places(size, out, corners, scale)
    low = np.floor(at).astype(np.int64)
    eye, a = np.eye(size), -0.75
    matrix = np.zeros((out, size))
    for shift in range(-1, 3):
        t = np.abs(at - (low + shift))
        near = ((a + 2) * t - (a + 3)) * t * t + 1
        far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
        matrix += np.where(t <= 1, near, far)[:, None] * eye[np.clip(low + shift, 0, size - 1)]
    return matrix.astype(np.float32)


def _along(x: Any, matrix: Any, axis: int) -> Any:
    return np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)


def _split(given: tuple[Any, ...], count: int) -> tuple[bool, tuple[float, ...]]:
    """`align_corners`, where the operator has it, and the scales, where it has them."""
    scales = tuple(given[-count:]) if len(given) >= count else (0.0,) * count
    rest = given[:-count] if len(given) >= count else given
    return bool(rest[0]) if rest else False, scales


def _resize(how: Axis, count: int, x: Any, sizes: Any, *given: Any) -> Any:
    corners, scales = _split(given, count)
    for at in range(count):
        axis = x.ndim - count + at
        x = _along(x, how(x.shape[axis], sizes[at], corners, scales[at]), axis)
    return x


def _resize_backward(how: Axis, count: int, grad: Any, sizes: Any, source: Any, *given: Any) -> Any:
    corners, scales = _split(given, count)
    for at in range(count):
        axis = grad.ndim - count + at
        grad = _along(grad, how(source[2 + at], sizes[at], corners, scales[at]).T, axis)
    return grad


for _name, _how, _count in (
    ("UpsampleNearest1d", nearest, 1),
    ("UpsampleNearest3d", nearest, 3),
    ("UpsampleLinear1d", linear, 1),
    ("UpsampleTrilinear3d", linear, 3),
    ("UpsampleBicubic2d", cubic, 2),
):
    operator(f"aclnn{_name}")(functools.partial(_resize, _how, _count))
    operator(f"aclnn{_name}Backward")(functools.partial(_resize_backward, _how, _count))
