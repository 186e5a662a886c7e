"""Pieces of images that boxes cut out (regions, crops), and blocks moved between the batch and the image."""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np

from .registry import NotEmulated, Sized, operator


def _samples(box: Any, attributes: Any) -> tuple[Any, Any]:
    """Where each sample of each bin lies along both axes: [bins, samples]."""
    scale, end = attributes.get("spatial_scale", 1.0), int(attributes.get("roi_end_mode", 1))
    first, last = box[1:3] * scale, (box[3:5] + end) * scale
    found = []
    for axis, name in ((1, "pooled_height"), (0, "pooled_width")):
        bins = int(attributes[name])
        size = last[axis] - first[axis]
        size = max(size, 1.0) if end == 0 else size
        count = int(attributes.get("sample_num", 2))
        count = count if count > 0 else int(np.ceil(size / bins))
        offsets = (np.arange(count) + 0.5) / max(count, 1)
        found.append(first[axis] + (np.arange(bins)[:, None] + offsets) * size / bins)
    return found[0], found[1]


def _weights(places: Any, size: int) -> Any:
    """[bins, size]: the share of each row or column in a bin, linear between neighbours; the mean of the samples."""
    out = np.zeros((places.shape[0], size))
    for bin_, row in enumerate(places):
        for place in row:
            if place < -1.0 or place > size:
                continue
            at = min(max(place, 0.0), size - 1.0)
            low = int(at)
            high = min(low + 1, size - 1)
            out[bin_, low] += (1 - (at - low)) / len(row)
            out[bin_, high] += (at - low) / len(row)
    return out


def _regions(boxes: Any, height: int, width: int, attributes: Any) -> Iterator[tuple[int, Any, Any]]:
    for box in np.asarray(boxes, np.float64):
        rows, columns = _samples(box, attributes)
        yield int(box[0]), _weights(rows, height), _weights(columns, width)


@operator("ROIAlign")
def align(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x, out = inputs[0], np.zeros(outputs[0].shape)
    for at, (image, rows, columns) in enumerate(_regions(inputs[1], x.shape[2], x.shape[3], attributes)):
        out[at] = np.einsum("ph,chw,qw->cpq", rows, x[image], columns)
    return out


@operator("ROIAlignGrad")
def align_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    grad, out = inputs[0], np.zeros(outputs[0].shape)
    for at, (image, rows, columns) in enumerate(_regions(inputs[1], out.shape[2], out.shape[3], attributes)):
        out[image] += np.einsum("ph,cpq,qw->chw", rows, grad[at], columns)
    return out


def _crop_weights(first: float, last: float, count: int, size: int, method: str) -> tuple[Any, Any]:
    """[count, size] for a crop from `first` to `last` (1 is the far edge), and which places lie in the image."""
    step = (last - first) * (size - 1) / (count - 1) if count > 1 else 0.0
    start = first * (size - 1) if count > 1 else 0.5 * (first + last) * (size - 1)
    places = start + np.arange(count) * step
    inside = (places >= 0) & (places <= size - 1)
    out = np.zeros((count, size))
    for row, place in enumerate(places):
        if not inside[row]:
            continue
        if method == "nearest":
            out[row, int(np.floor(place + 0.5))] = 1
        else:
            low = int(place)
            out[row, low] += 1 - (place - low)
            out[row, min(low + 1, size - 1)] += place - low
    return out, inside


def _crops(boxes: Any, height: int, width: int, sizes: Any, method: str) -> Iterator[tuple[Any, Any, Any]]:
    if method not in ("bilinear", "nearest"):
        raise NotEmulated(f"crops by {method} are not emulated")
    for top, left, bottom, right in np.asarray(boxes, np.float64):
        rows, in_rows = _crop_weights(top, bottom, sizes[0], height, method)
        columns, in_columns = _crop_weights(left, right, sizes[1], width, method)
        yield rows, columns, in_rows[:, None] & in_columns


@operator("CropAndResize")
def crop(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Images and crops have their channels last."""
    x, boxes, images = inputs[:3]
    out = np.zeros(outputs[0].shape)
    method = attributes.get("method") or "bilinear"
    found = _crops(boxes, x.shape[1], x.shape[2], out.shape[1:3], method)
    for at, (rows, columns, inside) in enumerate(found):
        piece = np.einsum("ph,hwc,qw->pqc", rows, x[int(images[at])], columns)
        out[at] = np.where(inside[..., None], piece, attributes.get("extrapolation_value") or 0.0)
    return out


@operator("CropAndResizeGradImage")
def crop_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    grad, boxes, images = inputs[:3]
    out = np.zeros(outputs[0].shape)
    method = attributes.get("method") or "bilinear"
    for at, (rows, columns, _) in enumerate(_crops(boxes, out.shape[1], out.shape[2], grad.shape[1:3], method)):
        out[int(images[at])] += np.einsum("ph,pqc,qw->hwc", rows, grad[at], columns)
    return out


def _integers(inputs: Any, attributes: Any, at: int, name: str) -> list[int]:
    """An input, or an attribute in the other form of the same operator."""
    given = inputs.get(at) if inputs.get(at) is not None else attributes[name]
    return [int(v) for v in np.reshape(given, -1)]


@operator("BatchToSpaceND", "BatchToSpaceNDD", "BatchToSpace", "BatchToSpaceD")
def blocks_to_space(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """The first axis holds the places in a block; what `crops` says is cut off the edges."""
    x, block, crops, first = _block_arguments(inputs, attributes, "crops")
    lead, space = x.shape[1:first], x.shape[first : first + len(block)]
    batch = x.shape[0] // int(np.prod(block))
    parts = x.reshape(*block, batch, *lead, *space, *x.shape[first + len(block) :])
    count = len(block)
    order = [count, *range(count + 1, count + 1 + len(lead))]
    for axis in range(count):
        order += [count + 1 + len(lead) + axis, axis]
    order += range(count + 1 + len(lead) + count, parts.ndim)
    grown = [size * by for size, by in zip(space, block)]
    out = parts.transpose(order).reshape(batch, *lead, *grown, *x.shape[first + count :])
    cuts = [slice(low, size - high) for size, (low, high) in zip(grown, crops)]
    return out[(slice(None),) * first + tuple(cuts)]


@operator("SpaceToBatchND", "SpaceToBatchNDD", "SpaceToBatch", "SpaceToBatchD")
def space_to_blocks(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x, block, pads, first = _block_arguments(inputs, attributes, "paddings")
    count = len(block)
    x = np.pad(x, [(0, 0)] * first + pads + [(0, 0)] * (x.ndim - first - count))
    lead, space = x.shape[1:first], x.shape[first : first + count]
    split = [size for length, by in zip(space, block) for size in (length // by, by)]
    parts = x.reshape(x.shape[0], *lead, *split, *x.shape[first + count :])
    start = 1 + len(lead)
    inner = [start + 2 * axis + 1 for axis in range(count)]
    outer = [start + 2 * axis for axis in range(count)]
    order = [*inner, 0, *range(1, start), *outer, *range(start + 2 * count, parts.ndim)]
    out = parts.transpose(order)
    return out.reshape(
        -1, *lead, *[out.shape[count + start + axis] for axis in range(count)], *x.shape[first + count :]
    )


def _block_arguments(inputs: Any, attributes: Any, edges: str) -> tuple[Any, list[int], list[tuple[int, int]], int]:
    """Values, block, pairs for the edges, and the first axis of the image, whose axes are the last ones."""
    if "block_size" in attributes:  # a square block; the edges are the second input, or an attribute
        block = [int(attributes["block_size"])] * 2
        flat = _integers(inputs, attributes, 1, edges)
    else:
        block = _integers(inputs, attributes, 1, "block_shape")
        flat = _integers(inputs, attributes, 2, edges)
    pairs = [(flat[at], flat[at + 1]) for at in range(0, len(flat), 2)]
    if len(pairs) > len(block):  # one pair for each axis but the batch: those in front are channels
        block = [1] * (len(pairs) - len(block)) + block
    return inputs[0], block, pairs, inputs[0].ndim - len(block)


@operator("BoundingBoxDecode")
def decode_boxes(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Boxes moved and scaled by what a network has found, kept inside of the image."""
    left, top, right, bottom = np.moveaxis(inputs[0], -1, 0)
    means, stds = (np.asarray(attributes.get(name) or [value] * 4) for name, value in (("means", 0), ("stds", 1)))
    far_x, far_y, wider, taller = np.moveaxis(inputs[1] * stds + means, -1, 0)
    most = abs(np.log(attributes.get("wh_ratio_clip", 0.016)))
    width, height = right - left + 1, bottom - top + 1
    x, y = far_x * width + (left + right) / 2, far_y * height + (top + bottom) / 2
    half = [size * np.exp(np.clip(by, -most, most)) / 2 for size, by in ((width, wider), (height, taller))]
    found = [x - half[0] + 0.5, y - half[1] + 0.5, x + half[0] - 0.5, y + half[1] - 0.5]
    limits = [int(v) for v in np.reshape(attributes.get("max_shape") or (), -1)]
    if limits:
        found = [np.clip(one, 0, limits[1 - at % 2] - 1) for at, one in enumerate(found)]
    return np.stack(found, -1)


@operator("Iou")
def overlaps(proposals: Any, truths: Any, *, mode: str | None = None) -> Any:
    """What each pair of boxes has in common, of both together or of the true one."""
    boxes, true = proposals[None], truths[:, None]
    low, high = np.maximum(boxes[..., :2], true[..., :2]), np.minimum(boxes[..., 2:], true[..., 2:])
    common = np.prod(np.maximum(high - low + 1, 0), -1)
    first, second = (np.prod(one[..., 2:] - one[..., :2] + 1, -1) for one in (boxes, true))
    return common / (second if mode == "iof" else first + second - common)


@operator("CheckValid")
def inside_image(boxes: Any, image: Any) -> Any:
    """Whether boxes lie in an image of height and width times a ratio."""
    height, width, ratio = (float(v) for v in np.reshape(image, -1)[:3])
    left, top, right, bottom = np.moveaxis(boxes, -1, 0)
    inside = (left >= 0) & (top >= 0)
    return inside & (right <= width * ratio - 1) & (bottom <= height * ratio - 1)


def shares(boxes: Any, extra: int = 0) -> Any:
    """What each pair of boxes has in common, of both together; the corners of a box come in any order."""
    low, high = (pick(boxes[:, :2], boxes[:, 2:]) for pick in (np.minimum, np.maximum))
    sides = np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None]) + extra
    common, area = np.prod(np.maximum(sides, 0), -1), np.prod(high - low + extra, -1)
    union = area[:, None] + area[None] - common
    return np.where(union > 0, common / np.where(union > 0, union, 1), 0)


def best(shared: Any, scores: Any, most: int, limit: float, least: float) -> list[int]:
    """Boxes by their scores, without those that share too much with a better one."""
    kept: list[int] = []
    for box in np.argsort(-scores, kind="stable"):
        if len(kept) < most and scores[box] > least and not (shared[box, kept] > limit).any():
            kept.append(int(box))
    return kept


def _numbers(inputs: Any) -> Any:
    most, limit, least = (float(np.reshape(one, -1)[0]) for one in inputs[2:5])
    return int(most), limit, least


@operator("NonMaxSuppressionV3")
def suppress(inputs: Any, attributes: Any, outputs: Any) -> Any:
    shared = shares(inputs[0], int(attributes.get("offset", 0) or 0))
    return Sized(np.array(best(shared, inputs[1], *_numbers(inputs)), np.int32))


@operator("NonMaxSuppressionWithOverlaps")
def suppress_by_overlaps(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return Sized(np.array(best(inputs[0], inputs[1], *_numbers(inputs)), np.int32))


@operator("NMSWithMask")
def suppress_in_order(rows: Any, *, iou_threshold: float = 0.5) -> Any:
    """Boxes as they come, with their scores; their numbers; and which of them share too much with none before."""
    low, high = rows[:, :2], rows[:, 2:4]
    common = np.prod(np.maximum(np.minimum(high[:, None], high) - np.maximum(low[:, None], low), 0), -1)
    area = np.prod(high - low, -1)
    shared = common / (area[:, None] + area - common)
    kept = np.ones(len(rows), bool)
    for row in range(1, len(rows)):
        kept[row] = not (shared[row, :row][kept[:row]] > iou_threshold).any()
    return rows[:, :5], np.arange(len(rows)), kept


def _sides(first: float, last: float, count: int, size: int) -> tuple[Any, Any, Any]:
    """Where the lines of a crop lie in the picture, and how far each moves with the two ends of the box."""
    if count == 1:
        return np.array([(first + last) / 2 * (size - 1)]), np.array([(size - 1) / 2]), np.array([(size - 1) / 2])
    share = np.arange(count) / (count - 1) * (size - 1)
    return first * (size - 1) + share * (last - first), (size - 1) - share, share


@operator("CropAndResizeGradBoxes")
def crop_backward_boxes(grads: Any, images: Any, boxes: Any, which: Any, outputs: Any) -> Any:
    """From the gradient of crops: how they change with the corners of their boxes (y1, x1, y2, x2)."""
    height, width = images.shape[1:3]
    out = np.zeros(outputs[0].shape, np.float64)
    for at, (top, left, bottom, right) in enumerate(np.asarray(boxes, np.float64)):
        image = images[int(which[at])].astype(np.float64)
        lines, to_top, to_bottom = _sides(top, bottom, grads.shape[1], height)
        columns, to_left, to_right = _sides(left, right, grads.shape[2], width)
        there = ((lines >= 0) & (lines <= height - 1))[:, None] & ((columns >= 0) & (columns <= width - 1))
        low, near = (
            np.clip(np.floor(one).astype(int), 0, size - 1) for one, size in ((lines, height), (columns, width))
        )
        high, far = (
            np.clip(np.ceil(one).astype(int), 0, size - 1) for one, size in ((lines, height), (columns, width))
        )
        down, along = (lines - low)[:, None, None], (columns - near)[None, :, None]
        corners = [image[np.ix_(rows, places)] for rows in (low, high) for places in (near, far)]
        by_line = (1 - along) * (corners[2] - corners[0]) + along * (corners[3] - corners[1])
        by_column = (1 - down) * (corners[1] - corners[0]) + down * (corners[3] - corners[2])
        lined = np.where(there, (by_line * grads[at]).sum(-1), 0)
        placed = np.where(there, (by_column * grads[at]).sum(-1), 0)
        out[at] = (lined.sum(1) @ to_top, placed.sum(0) @ to_left, lined.sum(1) @ to_bottom, placed.sum(0) @ to_right)
    return out
