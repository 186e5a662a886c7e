"""Glimpses of pictures, and the best boxes of all classes of a picture (kernels of MindSpore's own, by type)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .boxes import best, shares
from .registry import NotEmulated, operator


@operator("ExtractGlimpse")
def glimpses(
    images: Any,
    sizes: Any,
    offsets: Any,
    *,
    normalized: bool = True,
    centered: bool = True,
    uniform_noise: bool = True,
    noise: str = "uniform",
) -> Any:
    """A window of each picture (N, H, W, C); what lies outside is zero."""
    x, size, places = images, np.reshape(sizes, -1)[:2], np.asarray(offsets, np.float32)
    if uniform_noise or noise != "zero":
        raise NotEmulated("noise outside of the picture is not emulated")
    whole = np.array(x.shape[1:3], np.float32)
    if normalized:
        places = places * whole
    if centered:
        places = places / 2 + whole / 2
    starts = (places - size / np.float32(2)).astype(np.int64)  # towards zero, as in C
    out = np.zeros((len(x), int(size[0]), int(size[1]), x.shape[3]), x.dtype)
    for picture, found, start in zip(x, out, starts):
        rows, columns = (np.arange(length) + at for length, at in zip(found.shape, start))
        inside = [(at >= 0) & (at < length) for at, length in zip((rows, columns), picture.shape)]
        found[np.ix_(*inside)] = picture[np.ix_(rows[inside[0]], columns[inside[1]])]
    return out


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
            if kind < boxes.shape[2]:  # the boxes of this class, or those of all
                own = boxes[image, :, kind]
                shared = shares(own)
            for at in best(shared, scores[image, :, kind], per_class, overlap, least):
                rows.append((float(scores[image, at, kind]), kind, own[at]))
        rows.sort(key=lambda row: -row[0])
        rows = rows[: room if attributes.get("pad_per_class") else min(in_all, room)]
        for at, (score, kind, box) in enumerate(rows):
            found[0][image, at] = np.clip(box, 0, 1) if attributes.get("clip_boxes", 1) else box
            found[1][image, at], found[2][image, at] = score, kind
        found[3][image] = len(rows)
    return tuple(found)
