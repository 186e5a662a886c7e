"""Glimpses of pictures, and the best boxes of all classes of a picture (kernels of MindSpore's own, by type)."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from .registry import NotEmulated, operator


@operator("ExtractGlimpse")
def glimpses(inputs: Any, attributes: Any, _: Any) -> Any:
    """A window of each picture (N, H, W, C); what lies outside is zero."""
    x, size, places = inputs[0], np.reshape(inputs[1], -1)[:2], np.asarray(inputs[2], np.float32)
    if attributes.get("uniform_noise", 1) or attributes.get("noise", "uniform") != "zero":
        raise NotEmulated("noise outside of the picture is not emulated")
    whole = np.array(x.shape[1:3], np.float32)
    if attributes.get("normalized", 1):
        places = places * whole
    if attributes.get("centered", 1):
        places = places / 2 + whole / 2
    starts = (places - size / np.float32(2)).astype(np.int64)  # towards zero, as in C
    out = np.zeros((len(x), int(size[0]), int(size[1]), x.shape[3]), x.dtype)
    for picture, found, start in zip(x, out, starts):
        rows, columns = (np.arange(length) + at for length, at in zip(found.shape, start))
        inside = [(at >= 0) & (at < length) for at, length in zip((rows, columns), picture.shape)]
        found[np.ix_(*inside)] = picture[np.ix_(rows[inside[0]], columns[inside[1]])]
    return out


def _overlap(box: Any, other: Any) -> float:
    low, high = np.maximum(box[:2], other[:2]), np.minimum(box[2:], other[2:])
    sizes = [float(np.prod(one[2:] - one[:2])) for one in (box, other)]
    if min(sizes) <= 0:
        return 0.0
    shared = float(np.prod(np.maximum(high - low, 0)))
    return shared / (sum(sizes) - shared)


def _best(boxes: Any, scores: Any, most: int, overlap: float, least: float) -> list[int]:
    """Boxes from the best score on, without those that overlap one of them too much."""
    corners = np.concatenate([np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])], 1)
    waiting = [(-float(score), at) for at, score in enumerate(scores) if score > least]
    heapq.heapify(waiting)
    chosen: list[int] = []
    while waiting and len(chosen) < most:
        _, at = heapq.heappop(waiting)
        if all(_overlap(corners[at], corners[other]) <= overlap for other in reversed(chosen)):
            chosen.append(at)
    return chosen


@operator("CombinedNonMaxSuppression")
def best_boxes(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Inputs: boxes [N, boxes, classes or 1, 4], scores [N, boxes, classes], and four limits.

    Outputs: boxes, scores and classes of each picture from the best on, filled with zeros, and how many there are.
    """
    boxes, scores = inputs[0], inputs[1]
    per_class, in_all = (int(np.reshape(one, -1)[0]) for one in inputs[2:4])
    overlap, least = (float(np.reshape(one, -1)[0]) for one in inputs[4:6])
    found = [np.zeros(one.shape, one.dtype) for one in outputs]
    room = found[1].shape[1]
    for image in range(len(boxes)):
        rows = []
        for kind in range(scores.shape[2]):
            own = boxes[image, :, min(kind, boxes.shape[2] - 1)]
            for at in _best(own, scores[image, :, kind], per_class, overlap, least):
                rows.append((float(scores[image, at, kind]), kind, own[at]))
        rows.sort(key=lambda row: -row[0])
        rows = rows[: room if attributes.get("pad_per_class") else min(in_all, room)]
        for at, (score, kind, box) in enumerate(rows):
            found[0][image, at] = np.clip(box, 0, 1) if attributes.get("clip_boxes", 1) else box
            found[1][image, at], found[2][image, at] = score, kind
        found[3][image] = len(rows)
    return tuple(found)
