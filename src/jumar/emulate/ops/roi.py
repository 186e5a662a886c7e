"""Regions of interest: aligned pooling with bilinear samples, and its gradient."""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.ops.formula import gradients, wide
from jumar.emulate.ops.registry import operator


@operator()
def npu_roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sample_num: int,
    roi_end_mode: int,
) -> Tensor:
    size = pooled_height, pooled_width
    return _pool(wide(input), wide(rois), spatial_scale, size, sample_num, roi_end_mode).to(input.dtype)


@operator()
def npu_roi_alignbk(
    input: Tensor,
    rois: Tensor,
    xdiff_shape: list[int],
    pooled_width: int,
    pooled_height: int,
    spatial_scale: float,
    sample_num: int,
    roi_end_mode: int | None = None,
) -> Tensor:
    size = pooled_height, pooled_width
    mode = 1 if roi_end_mode is None else roi_end_mode
    zeros = torch.zeros(xdiff_shape, dtype=input.dtype)
    return gradients(lambda x: _pool(x, wide(rois), spatial_scale, size, sample_num, mode), [zeros], input)[0]


def _pool(
    x: Tensor, rois: Tensor, scale: float, size: tuple[int, int], samples: int, end_mode: int
) -> Tensor:
    out = []
    for roi in rois:
        start_x, start_y, end_x, end_y = (roi[1:5] * scale).tolist()
        if end_mode == 2:  # half a pixel to the left, no smallest size
            start_x, start_y, end_x, end_y = (n - 0.5 for n in (start_x, start_y, end_x, end_y))
            width, height = end_x - start_x, end_y - start_y
        else:
            grow = scale if end_mode == 1 else 0.0
            width, height = max(end_x + grow - start_x, 1.0), max(end_y + grow - start_y, 1.0)
        counts = [
            samples or max(1, int(-(-length // n))) for length, n in ((height, size[0]), (width, size[1]))
        ]
        rows = _samples(start_y, height / size[0], size[0], counts[0])
        columns = _samples(start_x, width / size[1], size[1], counts[1])
        values = _bilinear(x[int(roi[0])], rows, columns)
        out.append(values.unflatten(2, (size[1], counts[1])).unflatten(1, (size[0], counts[0])).mean((2, 4)))
    return torch.stack(out)


def _samples(start: float, step: float, bins: int, count: int) -> Tensor:
    """The middles of `count` equal parts of each bin, one behind the other."""
    inner = (torch.arange(count) + 0.5) * (step / count)
    return (start + torch.arange(bins).unsqueeze(1) * step + inner).reshape(-1)


def _bilinear(x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Values at all pairs of (row, column); outside by more than a pixel counts as zero."""
    parts = []
    for places, length in ((rows, x.shape[1]), (columns, x.shape[2])):
        valid = (places >= -1) & (places <= length)
        inside = places.clamp(0, length - 1)
        low = inside.floor().long()
        parts.append((low, (low + 1).clamp(max=length - 1), (inside - low).to(x.dtype), valid))
    (r0, r1, fr, vr), (c0, c1, fc, vc) = parts
    fr, fc = fr.view(-1, 1), fc.view(1, -1)
    top = x[:, r0][:, :, c0] * (1 - fc) + x[:, r0][:, :, c1] * fc
    bottom = x[:, r1][:, :, c0] * (1 - fc) + x[:, r1][:, :, c1] * fc
    return (top * (1 - fr) + bottom * fr) * (vr.view(-1, 1) & vc.view(1, -1))
