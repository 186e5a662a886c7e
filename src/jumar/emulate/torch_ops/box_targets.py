"""What a detector is trained towards: boxes relative to anchors, and which anchor answers for which box.

Formulas of open-mmlab/mmdetection (YOLOBBoxCoder, GridAssigner) and, for rotated boxes, differences of middles, sizes
and of the tangent of the angle; judged by the values in Ascend/op-plugin test/test_base_ops, where all weights are one:
that they multiply on encoding and divide on decoding is an assumption.
"""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.registry import operator

_SMALL = 1e-6


@operator()
def npu_yolo_boxes_encode(input: Tensor, gt_bboxes: Tensor, stride: Tensor, performance_mode: bool = False) -> Tensor:
    middle, size = _middle_and_size(wide(input), -1)
    target, target_size = _middle_and_size(wide(gt_bboxes), -1)
    cell = ((target - middle) / stride.unsqueeze(-1) + 0.5).clamp(_SMALL, 1 - _SMALL)
    return torch.cat([cell, (target_size / size).clamp(min=_SMALL).log()], -1).to(input.dtype)


@operator()
def npu_grid_assign_positive(
    input: Tensor,
    overlaps: Tensor,
    box_responsible_flags: Tensor,
    max_overlaps: Tensor,
    argmax_overlaps: Tensor,
    gt_max_overlaps: Tensor,
    gt_argmax_overlaps: Tensor,
    num_gts: int,
    pos_iou_thr: float,
    min_pos_iou: float,
    gt_max_assign_all: bool,
) -> Tensor:
    responsible = box_responsible_flags.bool()
    assigned = torch.where((max_overlaps > pos_iou_thr) & responsible, (argmax_overlaps + 1).to(input.dtype), input)
    for i in range(min(num_gts, overlaps.shape[0])):
        if gt_max_overlaps[i] <= min_pos_iou:
            continue
        if gt_max_assign_all:
            assigned[(overlaps[i] == gt_max_overlaps[i]) & responsible] = i + 1
        elif responsible[gt_argmax_overlaps[i]]:
            assigned[gt_argmax_overlaps[i]] = i + 1
    return assigned


@operator()
def npu_rotated_box_encode(input: Tensor, gt_bboxes: Tensor, weight: Tensor) -> Tensor:
    """Boxes as (batch, 5, number): corners and an angle in degrees."""
    boxes, targets = wide(input), wide(gt_bboxes)
    middle, size = _middle_and_size(boxes[:, :4], 1)
    target, target_size = _middle_and_size(targets[:, :4], 1)
    turn = targets[:, 4:].deg2rad().tan() - boxes[:, 4:].deg2rad().tan()
    deltas = torch.cat([(target - middle) / size, (target_size / size).log(), turn], 1)
    return (deltas * wide(weight).view(1, 5, 1)).to(input.dtype)


@operator()
def npu_rotated_box_decode(input: Tensor, deltas: Tensor, weight: Tensor) -> Tensor:
    boxes, scaled = wide(input), wide(deltas) / wide(weight).view(1, 5, 1)
    middle, size = _middle_and_size(boxes[:, :4], 1)
    centre, half = middle + scaled[:, :2] * size, size * scaled[:, 2:4].exp() / 2
    angle = (boxes[:, 4:].deg2rad().tan() + scaled[:, 4:]).atan().rad2deg()
    return torch.cat([centre - half, centre + half, angle], 1).to(input.dtype)


def _middle_and_size(corners: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    low, high = corners.chunk(2, dim)
    return (low + high) / 2, high - low
