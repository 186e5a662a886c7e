"""Attention over a few places of pictures of several sizes (multi-scale deformable attention), and its gradient.

Formula as documented for aclnnMultiScaleDeformableAttnFunction (CANN, ops-nn, vfusion): values are (batch, keys, heads,
size), places (batch, queries, heads, levels, points, 2) as parts of width and height, weights without the last axis.
"""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple

import numpy as np

from .registry import operator


class _Corner(NamedTuple):
    """A pixel beside each place of a level: which key it is, its share, and how that changes with the place."""

    level: int
    keys: Any
    share: Any
    by_x: Any
    by_y: Any


def _corners(shapes: Any, starts: Any, places: Any) -> Iterator[_Corner]:
    for level, (height, width) in enumerate(np.asarray(shapes).astype(np.int64)):
        x, y = places[..., level, :, 0] * width - np.float32(0.5), places[..., level, :, 1] * height - np.float32(0.5)
        left, top = np.floor(x), np.floor(y)
        for down in (0, 1):
            for right in (0, 1):
                column, row = (left + right).astype(np.int64), (top + down).astype(np.int64)
                inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
                across, along = (x - left if right else 1 - x + left), (y - top if down else 1 - y + top)
                key = int(starts[level]) + np.where(inside, row * width + column, 0)
                by_x, by_y = along * (2 * right - 1) * width, across * (2 * down - 1) * height
                yield _Corner(
                    level, key, *(np.where(inside, one, 0)[..., None] for one in (across * along, by_x, by_y))
                )


def _rows(keys: Any) -> Any:
    """The index of the pixels in the values: batch, key, head."""
    batch, _, heads, _ = keys.shape
    return np.arange(batch)[:, None, None, None], keys, np.arange(heads)[None, None, :, None]


@operator("aclnnMultiScaleDeformableAttnFunction")
def attend(value: Any, shapes: Any, starts: Any, places: Any, weights: Any) -> Any:
    out = np.zeros((*places.shape[:3], value.shape[-1]), np.float32)
    for corner in _corners(shapes, starts, places):
        out += (value[_rows(corner.keys)] * corner.share * weights[..., corner.level, :, None]).sum(-2)
    return out.reshape(*out.shape[:2], -1)


@operator("aclnnMultiScaleDeformableAttentionGrad")
def attend_backward(value: Any, shapes: Any, starts: Any, places: Any, weights: Any, grad: Any) -> Any:
    """The two numbers of a place may stand in front of the points, as MindSpore has them: so does their gradient."""
    turned = places.shape[-1] != 2 or (places.shape[-2] == 2 and weights.shape[-1] != places.shape[-2])
    places = places.swapaxes(-1, -2) if turned else places
    slope = grad.reshape(*places.shape[:3], 1, -1)
    to_value, to_places, to_weights = (np.zeros(one.shape, np.float32) for one in (value, places, weights))
    for corner in _corners(shapes, starts, places):
        at, weight = _rows(corner.keys), weights[..., corner.level, :, None]
        np.add.at(to_value, at, slope * corner.share * weight)
        along = (value[at] * slope).sum(-1, keepdims=True)
        to_weights[..., corner.level, :] += (along * corner.share)[..., 0]
        to_places[..., corner.level, :, :] += along * weight * np.concatenate([corner.by_x, corner.by_y], -1)
    return to_value, to_places.swapaxes(-1, -2) if turned else to_places, to_weights
