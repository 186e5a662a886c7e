"""Regions of interest: aligned pooling with bilinear samples, position-sensitive pooling, and their gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from jumar.emulate.torch_ops.formula import gradients, wide
from jumar.emulate.torch_ops.registry import operator


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


def _pool(x: Tensor, rois: Tensor, scale: float, size: tuple[int, int], samples: int, end_mode: int) -> Tensor:
    out = []
    for roi in rois:
        start_x, start_y, end_x, end_y = (roi[1:5] * scale).tolist()
        if end_mode == 2:  # half a pixel to the left, no smallest size
            start_x, start_y, end_x, end_y = (n - 0.5 for n in (start_x, start_y, end_x, end_y))
            width, height = end_x - start_x, end_y - start_y
        else:
            grow = scale if end_mode == 1 else 0.0
            width, height = max(end_x + grow - start_x, 1.0), max(end_y + grow - start_y, 1.0)
        counts = [samples or max(1, int(-(-length // n))) for length, n in ((height, size[0]), (width, size[1]))]
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


@operator()
def npu_ps_roi_pooling(input: Tensor, rois: Tensor, spatial_scale: float, group_size: int, output_dim: int) -> Tensor:
    """R-FCN (arXiv 1605.06409): bin (i, j) of a region is the mean of its own channels of the map."""
    maps = wide(input).unflatten(1, (output_dim, group_size, group_size))
    regions = rois.transpose(1, 2).reshape(-1, 5).tolist()
    out = maps.new_zeros(len(regions), output_dim, group_size, group_size)
    for index, region in enumerate(regions):
        for image, i, j, rows, columns in _bins(region, spatial_scale, group_size, input.shape[2:]):
            out[index, :, i, j] = maps[image, :, i, j, rows, columns].mean((-1, -2))
    return out.to(input.dtype)


@operator()
def npu_ps_roi_pooling_backward(
    output_grad: Tensor, rois: Tensor, spatial_scale: float, group_size: int, output_dim: int, input_size: list[int]
) -> Tensor:
    given = wide(output_grad)
    maps = given.new_zeros(rois.shape[0], output_dim, group_size, group_size, *input_size)
    for index, region in enumerate(rois.transpose(1, 2).reshape(-1, 5).tolist()):
        for image, i, j, rows, columns in _bins(region, spatial_scale, group_size, input_size):
            count = (rows.stop - rows.start) * (columns.stop - columns.start)
            maps[image, :, i, j, rows, columns] += (given[index, :, i, j] / count)[:, None, None]
    return maps.flatten(1, 3).to(output_grad.dtype)


def _bins(
    region: list[float], scale: float, groups: int, size: Sequence[int]
) -> Iterator[tuple[int, int, int, slice, slice]]:
    """The bins of a region that are not empty: image, place, rows and columns."""
    left, top, right, bottom = (math.floor(n + 0.5) * scale for n in (*region[1:3], region[3] + 1, region[4] + 1))
    bin_y, bin_x = max(bottom - top, 0.1) / groups, max(right - left, 0.1) / groups
    for i in range(groups):
        rows = _bin(top, bin_y, i, size[0])
        for j in range(groups):
            columns = _bin(left, bin_x, j, size[1])
            if rows.start < rows.stop and columns.start < columns.stop:
                yield int(region[0]), i, j, rows, columns


def _bin(start: float, size: float, index: int, limit: int) -> slice:
    begin, end = math.floor(start + index * size), math.ceil(start + (index + 1) * size)
    return slice(min(max(begin, 0), limit), min(max(end, 0), limit))
