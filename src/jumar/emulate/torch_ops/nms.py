"""Suppression of overlapping boxes, plain and rotated, and the overlap of rotated boxes."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from jumar.core.compat import zip
from jumar.emulate.torch_ops.registry import not_emulated, operator

_Point = tuple[float, float]
_NO_AREA = 1e-14


def _overlap(boxes: Tensor) -> Tensor:
    low = torch.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    inner = (high - low).clamp(min=0).prod(-1)
    sizes = (boxes[:, 2:] - boxes[:, :2]).clamp(min=0).prod(-1)
    return inner / (sizes[:, None] + sizes[None] - inner).clamp(min=1e-12)


def _suppress(order: list[int], overlap: Tensor, threshold: float) -> list[int]:
    kept: list[int] = []
    for i in order:
        if all(overlap[i, j] <= threshold for j in kept):
            kept.append(i)
    return kept


@operator()
def npu_nms_v4(
    input: Tensor,
    scores: Tensor,
    max_output_size: int,
    iou_threshold: Tensor,
    scores_threshold: Tensor,
    pad_to_max_output_size: bool = False,
) -> tuple[Tensor, Tensor]:
    corners = input.float()
    boxes = torch.cat([torch.minimum(corners[:, :2], corners[:, 2:]), torch.maximum(corners[:, :2], corners[:, 2:])], 1)
    order = [i for i in scores.argsort(descending=True, stable=True).tolist() if scores[i] > scores_threshold]
    kept = _suppress(order, _overlap(boxes), float(iou_threshold))[: int(max_output_size)]
    out = torch.zeros(int(max_output_size), dtype=torch.int32)
    out[: len(kept)] = torch.tensor(kept, dtype=torch.int32)
    return out, torch.tensor(len(kept), dtype=torch.int32)


@operator()
def npu_batch_nms(
    input: Tensor,
    scores: Tensor,
    score_threshold: float,
    iou_threshold: float,
    max_size_per_class: int,
    max_total_size: int,
    change_coordinate_frame: bool = False,
    transpose_box: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Each class on its own, then the best of all classes; boxes as (batch, anchors, 1 or classes, 4)."""
    if change_coordinate_frame:
        raise not_emulated("npu_batch_nms", "with `change_coordinate_frame`")
    boxes = (input.transpose(1, 3) if transpose_box else input).float()
    batch, classes = scores.shape[0], scores.shape[2]
    out = torch.zeros(batch, max_total_size, 6)
    counts = torch.zeros(batch, dtype=torch.int32)
    for b in range(batch):
        found: list[tuple[float, int, Tensor]] = []
        for k in range(classes):
            own, points = boxes[b, :, min(k, boxes.shape[2] - 1)], scores[b, :, k].float()
            order = [i for i in points.argsort(descending=True, stable=True).tolist() if points[i] > score_threshold]
            kept = _suppress(order, _overlap(own), iou_threshold)[:max_size_per_class]
            found += [(float(points[i]), k, own[i]) for i in kept]
        best = sorted(found, key=lambda one: -one[0])[:max_total_size]
        counts[b] = len(best)
        for place, (score, k, box) in enumerate(best):
            out[b, place] = torch.cat([box, torch.tensor([score, float(k)])])
    out = out.to(input.dtype)
    return out[..., :4].contiguous(), out[..., 4].contiguous(), out[..., 5].contiguous(), counts


@operator()
def npu_nms_with_mask(input: Tensor, iou_threshold: float) -> tuple[Tensor, Tensor, Tensor]:
    """Boxes come sorted by score, in the fifth column."""
    kept = _suppress(list(range(input.shape[0])), _overlap(input[:, :4].float()), float(iou_threshold))
    mask = torch.zeros(input.shape[0], dtype=torch.uint8)
    mask[kept] = 1
    return input.clone(), torch.arange(input.shape[0], dtype=torch.int32), mask


@operator()
def npu_nms_rotated(
    input: Tensor,
    scores: Tensor,
    iou_threshold: float,
    scores_threshold: float = 0.0,
    max_output_size: int = -1,
    mode: int = 0,
) -> tuple[Tensor, Tensor]:
    boxes = [_polygon(row, mode == 0) for row in input.double().tolist()]
    order = [i for i in scores.argsort(descending=True, stable=True).tolist() if scores[i] >= scores_threshold]
    kept: list[int] = []
    for i in order:
        if all(_ratio(boxes[i], boxes[j]) <= iou_threshold for j in kept):
            kept.append(i)
    if max_output_size > 0:
        kept = kept[:max_output_size]
    return torch.tensor(kept, dtype=torch.int32), torch.tensor([len(kept)], dtype=torch.int32)


@operator()
def npu_rotated_iou(
    input: Tensor,
    query_boxes: Tensor,
    trans: bool = False,
    mode: int = 0,
    is_cross: bool = True,
    v_threshold: float = 0.0,
    e_threshold: float = 0.0,
) -> Tensor:
    return _each(input, query_boxes, trans, is_cross, mode, ratio=True)


@operator()
def npu_rotated_overlaps(input: Tensor, query_boxes: Tensor, trans: bool = False) -> Tensor:
    # As (batch, boxes, 5), whatever the vendor's page says: torch_npu turns them round for the device's kernel.
    return _each(input, query_boxes, trans, True, 0, ratio=False)


def _each(input: Tensor, query: Tensor, trans: bool, is_cross: bool, mode: int, *, ratio: bool) -> Tensor:
    out = []
    for ours, theirs in zip(input.double().tolist(), query.double().tolist(), strict=True):
        one, two = ([_polygon(box, not trans) for box in boxes] for boxes in (ours, theirs))
        pairs = [[(a, b) for b in two] for a in one] if is_cross else [list(zip(one, two, strict=True))]
        rows = [[_ratio(a, b, mode) if ratio else _common(a, b) for a, b in row] for row in pairs]
        out.append(rows if is_cross else rows[0])
    return torch.tensor(out, dtype=torch.float64).to(input.dtype)


def _polygon(box: list[float], centred: bool) -> list[_Point]:
    """The corners, counter-clockwise, of (x, y, w, h, degrees) or of (x1, y1, x2, y2, degrees); none if empty."""
    if centred:
        cx, cy, w, h = box[:4]
    else:
        cx, cy, w, h = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2, box[2] - box[0], box[3] - box[1]
    if w * h < _NO_AREA:
        return []
    angle = math.radians(box[4] if centred else -box[4])  # the form with corners turns the other way
    c, s = math.cos(angle), math.sin(angle)
    half = ((-w / 2, -h / 2), (w / 2, -h / 2), (w / 2, h / 2), (-w / 2, h / 2))
    points = [(cx + x * c - y * s, cy + x * s + y * c) for x, y in half]
    return points if _area(points) >= 0 else points[::-1]


def _area(points: list[_Point]) -> float:
    return sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(points, points[1:] + points[:1], strict=True)) / 2


def _ratio(a: list[_Point], b: list[_Point], mode: int = 0) -> float:
    inner = _common(a, b)
    whole = _area(a) if mode == 1 else _area(a) + _area(b) - inner
    return inner / whole if whole > 0 else 0.0


def _common(a: list[_Point], b: list[_Point]) -> float:
    """The area two convex polygons share: one is cut by each side of the other."""
    points = a if b else []
    for start, end in zip(b, b[1:] + b[:1], strict=True):
        if not points:
            return 0.0
        side = [(end[0] - start[0]) * (y - start[1]) - (end[1] - start[1]) * (x - start[0]) for x, y in points]
        cut: list[_Point] = []
        for i, point in enumerate(points):
            before = i - 1
            if (side[i] >= 0) != (side[before] >= 0):
                t = side[before] / (side[before] - side[i])
                old = points[before]
                cut.append((old[0] + t * (point[0] - old[0]), old[1] + t * (point[1] - old[1])))
            if side[i] >= 0:
                cut.append(point)
        points = cut
    return abs(_area(points)) if len(points) > 2 else 0.0
