"""Boxes of detection networks: overlaps (iou, giou, diou, ciou), encoding and decoding, anchors."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from jumar.emulate.torch_ops.formula import gradients, wide
from jumar.emulate.torch_ops.registry import operator

_EPS = 1e-9


@operator("npu_iou", "npu_ptiou")
def npu_iou(bboxes: Tensor, gtboxes: Tensor, mode: int = 0) -> Tensor:
    """(targets, boxes); sides are 0.01 longer in the areas, as the device's kernel has it."""
    boxes, targets = wide(bboxes), wide(gtboxes)
    low = torch.maximum(targets[:, None, :2], boxes[None, :, :2])
    high = torch.minimum(targets[:, None, 2:], boxes[None, :, 2:])
    inner = (high - low).clamp(min=0).prod(-1)
    sizes = [(t[:, 2:] - t[:, :2] + 0.01).prod(-1) for t in (targets, boxes)]
    whole = sizes[0][:, None] if mode == 1 else sizes[0][:, None] + sizes[1][None] - inner
    return (inner / whole).to(bboxes.dtype)


def _corners(boxes: Tensor, trans: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    a, b, c, d = boxes.unbind(0)
    return (a - c / 2, b - d / 2, a + c / 2, b + d / 2) if trans else (a, b, c, d)


def _pairs(boxes: Tensor, targets: Tensor, is_cross: bool) -> tuple[Tensor, Tensor]:
    """Boxes lie in columns; each with each gives (targets, boxes), otherwise one row."""
    if is_cross:
        return boxes[:, None, :], targets[:, :, None]
    return boxes[:, None, :], targets[:, None, :]


def _parts(boxes: Tensor, targets: Tensor, trans: bool, is_cross: bool) -> tuple[Tensor, ...]:
    one, two = (_corners(t, trans) for t in _pairs(boxes, targets, is_cross))
    width = (torch.minimum(one[2], two[2]) - torch.maximum(one[0], two[0])).clamp(min=0)
    height = (torch.minimum(one[3], two[3]) - torch.maximum(one[1], two[1])).clamp(min=0)
    outer_width = torch.maximum(one[2], two[2]) - torch.minimum(one[0], two[0])
    outer_height = torch.maximum(one[3], two[3]) - torch.minimum(one[1], two[1])
    sizes = one[2] - one[0], one[3] - one[1], two[2] - two[0], two[3] - two[1]
    distance = ((two[0] + two[2] - one[0] - one[2]) ** 2 + (two[1] + two[3] - one[1] - one[3]) ** 2) / 4
    return width * height, outer_width, outer_height, distance, *sizes


def _ratio(inner: Tensor, w1: Tensor, h1: Tensor, w2: Tensor, h2: Tensor, mode: int) -> Tensor:
    return inner / (w2 * h2 + _EPS if mode == 1 else w1 * h1 + w2 * h2 - inner + _EPS)


def _giou(boxes: Tensor, targets: Tensor, trans: bool, is_cross: bool, mode: int) -> Tensor:
    inner, width, height, _, w1, h1, w2, h2 = _parts(boxes, targets, trans, is_cross)
    union = w1 * h1 + w2 * h2 - inner + 1e-16
    outer = width * height
    return _ratio(inner, w1, h1, w2, h2, mode) - (outer - union) / outer


def _diou(boxes: Tensor, targets: Tensor, trans: bool, is_cross: bool, mode: int) -> Tensor:
    inner, width, height, distance, w1, h1, w2, h2 = _parts(boxes, targets, trans, is_cross)
    return _ratio(inner, w1, h1, w2, h2, mode) - distance / (width**2 + height**2 + _EPS)


def _ciou(boxes: Tensor, targets: Tensor, trans: bool, is_cross: bool, mode: int) -> tuple[Tensor, Tensor]:
    inner, width, height, distance, w1, h1, w2, h2 = _parts(boxes, targets, trans, is_cross)
    ratio = _ratio(inner, w1, h1, w2, h2, mode)
    angle = torch.atan(w2 / (h2 + _EPS)) - torch.atan(w1 / (h1 + _EPS))
    v = 4 / math.pi**2 * angle**2
    # The weight of the angle is a constant for the gradient, as in the loss this comes from.
    alpha = (v / (1 + _EPS - ratio + v)).detach()
    return ratio - distance / (width**2 + height**2 + _EPS) - v * alpha, angle


@operator()
def npu_giou(input: Tensor, gtboxes: Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0) -> Tensor:
    _check_backward("giou", trans, is_cross, mode)  # torch_npu asks it of the forward as well
    return _giou(wide(input), wide(gtboxes), trans, is_cross, mode).t().to(input.dtype)


@operator()
def npu_diou(input: Tensor, gtboxes: Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0) -> Tensor:
    return _diou(wide(input), wide(gtboxes), trans, is_cross, mode).to(input.dtype)


@operator()
def _npu_ciou(
    input: Tensor,
    gtboxes: Tensor,
    trans: bool = False,
    is_cross: bool = True,
    mode: int = 0,
    atan_sub_flag: bool = False,
) -> tuple[Tensor, Tensor]:
    overlap, angle = _ciou(wide(input), wide(gtboxes), trans, is_cross, mode)
    return overlap.to(input.dtype), angle.to(input.dtype)


@operator()
def npu_giou_backward(
    grad: Tensor, bboxes: Tensor, gtboxes: Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0
) -> tuple[Tensor, Tensor]:
    _check_backward("giou", trans, is_cross, mode)
    dboxes, dtargets = gradients(
        lambda b, t: _giou(b, t, trans, is_cross, mode), [bboxes, gtboxes], grad.reshape(1, -1)
    )
    return dboxes, dtargets


@operator()
def npu_diou_backward(
    grad: Tensor, bboxes: Tensor, gtboxes: Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0
) -> tuple[Tensor, Tensor]:
    _check_backward("diou", trans, is_cross, mode)
    dboxes, dtargets = gradients(lambda b, t: _diou(b, t, trans, is_cross, mode), [bboxes, gtboxes], grad)
    return dboxes, dtargets


@operator()
def npu_ciou_backward(
    grad: Tensor,
    bboxes: Tensor,
    gtboxes: Tensor,
    atan_sub: Tensor | None,
    trans: bool = False,
    is_cross: bool = True,
    mode: int = 0,
) -> tuple[Tensor, Tensor]:
    _check_backward("ciou", trans, is_cross, mode)
    dboxes, dtargets = gradients(lambda b, t: _ciou(b, t, trans, is_cross, mode)[0], [bboxes, gtboxes], grad)
    return dboxes, dtargets


def _check_backward(name: str, trans: bool, is_cross: bool, mode: int) -> None:
    if not trans or is_cross or mode != 0:
        raise RuntimeError(
            f"{name} backward only support trans==True, is_cross==False, mode==0('iou') current version "
            "if you need to back propagation, please ensure your parameter is correct!"
        )


@operator()
def npu_bounding_box_encode(
    anchor_box: Tensor,
    ground_truth_box: Tensor,
    means0: float,
    means1: float,
    means2: float,
    means3: float,
    stds0: float,
    stds1: float,
    stds2: float,
    stds3: float,
) -> Tensor:
    """In float16 whatever the input: the vendor's page shows 13.3281 for 40 / 3."""
    px, py, pw, ph = _centred(anchor_box.half())
    gx, gy, gw, gh = _centred(ground_truth_box.half())
    deltas = torch.stack([(gx - px) / pw, (gy - py) / ph, (gw / pw).log(), (gh / ph).log()], -1)
    means, stds = torch.tensor([means0, means1, means2, means3]), torch.tensor([stds0, stds1, stds2, stds3])
    return ((deltas - means.half()) * (1 / stds).half()).to(anchor_box.dtype)


@operator()
def npu_bounding_box_decode(
    rois: Tensor,
    deltas: Tensor,
    means0: float,
    means1: float,
    means2: float,
    means3: float,
    stds0: float,
    stds1: float,
    stds2: float,
    stds3: float,
    max_shape: list[int],
    wh_ratio_clip: float,
) -> Tensor:
    means, stds = torch.tensor([means0, means1, means2, means3]), torch.tensor([stds0, stds1, stds2, stds3])
    dx, dy, dw, dh = (wide(deltas) * stds + means).unbind(-1)
    limit = abs(math.log(wh_ratio_clip))
    px, py, pw, ph = _centred(wide(rois))
    gw, gh = pw * dw.clamp(-limit, limit).exp(), ph * dh.clamp(-limit, limit).exp()
    gx, gy = px + pw * dx, py + ph * dy
    height, width = (max_shape * 2)[:2]
    corners = [
        (gx - gw / 2 + 0.5).clamp(0, width - 1),
        (gy - gh / 2 + 0.5).clamp(0, height - 1),
        (gx + gw / 2 - 0.5).clamp(0, width - 1),
        (gy + gh / 2 - 0.5).clamp(0, height - 1),
    ]
    return torch.stack(corners, -1).to(rois.dtype)


def _centred(boxes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Middle and size; the last pixel belongs to the box."""
    x1, y1, x2, y2 = boxes.unbind(-1)
    return (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1 + 1, y2 - y1 + 1


@operator()
def npu_anchor_response_flags(
    input: Tensor, featmap_size: list[int], stride: list[int], num_base_anchors: int
) -> Tensor:
    boxes = wide(input)
    x = ((boxes[:, 0] + boxes[:, 2]) / 2 / stride[0]).floor().long()
    y = ((boxes[:, 1] + boxes[:, 3]) / 2 / stride[1]).floor().long()
    flags = torch.zeros(featmap_size[0] * featmap_size[1], dtype=torch.uint8)
    place = y * featmap_size[1] + x
    flags[place[(place >= 0) & (place < flags.numel())]] = 1
    return flags.repeat_interleave(num_base_anchors)
