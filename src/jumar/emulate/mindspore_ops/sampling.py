"""Samples of an image or a volume at given places, the grids of those places, and patches of images as columns."""

from __future__ import annotations

import itertools
from typing import Any, Iterator

import numpy as np

from .registry import NotEmulated, operator

_LINEAR, _NEAREST = 0, 1
_ZEROS, _BORDER, _REFLECTION = range(3)


def _unnormalized(grid: Any, size: int, corners: bool) -> tuple[Any, float]:
    """The place in the image, and its slope."""
    if corners:
        return (grid + 1) * (size - 1) / 2, (size - 1) / 2
    return ((grid + 1) * size - 1) / 2, size / 2


def _inside(at: Any, size: int, padding: int, corners: bool) -> tuple[Any, Any]:
    """The place after padding, and its slope."""
    one = np.ones_like(at)
    if padding == _REFLECTION:
        low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
        span = max(high - low, 1e-12)
        away = np.abs(at - low)
        turns, rest = np.floor(away / span), np.mod(away, span)
        even = np.mod(turns, 2) == 0
        one = np.where(at < low, -1.0, 1.0) * np.where(even, 1.0, -1.0)
        at = np.where(even, rest + low, high - rest)
    if padding in (_BORDER, _REFLECTION):
        one = np.where((at < 0) | (at > size - 1), 0, one)
        at = np.clip(at, 0, size - 1)
    return at, one


def _places(x: Any, grid: Any, padding: int, corners: int) -> tuple[list[Any], list[Any]]:
    """For each axis of the image: where the samples lie, and how that depends on the grid."""
    places, slopes = [], []
    for axis, size in enumerate(x.shape[2:]):
        at, factor = _unnormalized(grid[..., grid.shape[-1] - 1 - axis].astype(np.float64), size, bool(corners))
        at, slope = _inside(at, size, padding, bool(corners))
        places.append(at)
        slopes.append(slope * factor)
    return places, slopes


def _corners(x: Any, places: list[Any], mode: int) -> Iterator[tuple[tuple[Any, ...], Any, list[Any], list[int]]]:
    """Index, whether it is inside, the weight along each axis, and its sign: for every neighbour of the samples."""
    if mode not in (_LINEAR, _NEAREST):
        raise NotEmulated("bicubic samples are not emulated")
    low = [np.rint(at) if mode == _NEAREST else np.floor(at) for at in places]
    for side in itertools.product((0, 1), repeat=len(places) if mode == _LINEAR else 0):
        sides = side or (0,) * len(places)
        index = [(base + one).astype(np.int64) for base, one in zip(low, sides)]
        there = np.ones(places[0].shape, bool)
        for one, size in zip(index, x.shape[2:]):
            there &= (one >= 0) & (one < size)
        weights = [np.abs(1 - one - (at - base)) for at, base, one in zip(places, low, sides)]
        if mode == _NEAREST:
            weights = [np.ones_like(at) for at in places]
        clipped = tuple(np.clip(one, 0, size - 1) for one, size in zip(index, x.shape[2:]))
        yield clipped, there, weights, [1 if one else -1 for one in sides]


def _batches(x: Any, index: tuple[Any, ...]) -> tuple[Any, ...]:
    batch = np.arange(x.shape[0]).reshape(-1, *[1] * (index[0].ndim - 1))
    return (batch, slice(None), *index)


@operator("aclnnGridSampler2D", "aclnnGridSampler3D")
def sample(x: Any, grid: Any, mode: int, padding: int, corners: int) -> Any:
    places, _ = _places(x, grid, padding, corners)
    out = np.zeros((*grid.shape[:-1], x.shape[1]))
    for index, there, weights, _ in _corners(x, places, mode):
        out += x[_batches(x, index)] * (np.prod(weights, 0) * there)[..., None]
    return np.moveaxis(out, -1, 1)


@operator("aclnnGridSampler2DBackward", "aclnnGridSampler3DBackward")
def sample_backward(grad: Any, x: Any, grid: Any, mode: int, padding: int, corners: int, mask: Any) -> Any:
    places, slopes = _places(x, grid, padding, corners)
    to_x, to_grid = np.zeros(x.shape), np.zeros(grid.shape)
    rows = np.moveaxis(grad, 1, -1).astype(np.float64)
    for index, there, weights, signs in _corners(x, places, mode):
        np.add.at(to_x, _batches(x, index), rows * (np.prod(weights, 0) * there)[..., None])
        if mode == _NEAREST:
            continue
        product = (rows * x[_batches(x, index)]).sum(-1) * there
        for axis, sign in enumerate(signs):
            others = np.prod([w for at, w in enumerate(weights) if at != axis], 0)
            to_grid[..., len(signs) - 1 - axis] += product * others * sign * slopes[axis]
    return to_x, to_grid


def _windows(size: Any, kernel_size: Any, gap: Any, padding: Any, step: Any) -> tuple[Any, Any]:
    """For each axis: the places of every tap of every window, in the padded image."""
    return tuple(
        np.arange((size[a] + 2 * padding[a] - gap[a] * (kernel_size[a] - 1) - 1) // step[a] + 1) * step[a]
        + (np.arange(kernel_size[a]) * gap[a])[:, None]
        for a in (0, 1)
    )


@operator("aclnnIm2col")
def unfold(x: Any, kernel_size: Any, gap: Any, padding: Any, step: Any) -> Any:
    rows, columns = _windows(x.shape[-2:], kernel_size, gap, padding, step)
    edges = [(0, 0)] * (x.ndim - 2) + [(one, one) for one in padding]
    return np.pad(x, edges)[..., rows[:, None, :, None], columns[None, :, None, :]]


@operator("aclnnIm2colBackward")
def fold(x: Any, size: Any, kernel_size: Any, gap: Any, padding: Any, step: Any) -> Any:
    rows, columns = _windows(size, kernel_size, gap, padding, step)
    taps = kernel_size[0] * kernel_size[1]
    lead = (*x.shape[:-2], x.shape[-2] // taps) if x.ndim == 3 else (x.shape[0] // taps,)
    parts = x.reshape(*lead[:-2], -1, *kernel_size, rows.shape[1], columns.shape[1])
    out = np.zeros((*parts.shape[:-4], size[0] + 2 * padding[0], size[1] + 2 * padding[1]), x.dtype)
    np.add.at(out, (..., rows[:, None, :, None], columns[None, :, None, :]), parts)
    return out[..., padding[0] : out.shape[-2] - padding[0], padding[1] : out.shape[-1] - padding[1]]


def _pixels(size: Any, attributes: Any) -> tuple[list[int], Any]:
    """The sizes of an output, and where its pixels lie from -1 to 1: a row of coordinates and a one for each."""
    sizes = [int(v) for v in np.reshape(size, -1)]
    axes = []
    for length in sizes[2:]:
        line = np.linspace(-1, 1, length) if length > 1 else np.zeros(1)
        axes.append(line if attributes.get("align_corners") else line * (length - 1) / length)
    points = np.meshgrid(*axes, indexing="ij")
    return sizes, np.stack([*reversed(points), np.ones_like(points[0])], -1).reshape(-1, len(points) + 1)


@operator("AffineGrid")
def affine_grid(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """The places of all pixels of an output, as the matrices say."""
    _, pixels = _pixels(inputs[1], attributes)
    return np.einsum("pk,nrk->npr", pixels, inputs[0]).reshape(outputs[0].shape)


@operator("AffineGridGrad")
def affine_grid_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """The gradient for the matrices that made a grid of the places of all pixels."""
    sizes, pixels = _pixels(inputs[1], attributes)
    grad = inputs[0].reshape(sizes[0], -1, len(sizes) - 2)
    return np.einsum("pk,npr->nrk", pixels, grad).reshape(outputs[0].shape)
