"""Deformable convolution (arXiv 1703.06211, 1811.11168): each tap of the kernel reads where its offset points to.

Channels of the offsets, as torch_npu.contrib.ModulatedDeformConv lays them out: all in x, all in y, all factors.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from jumar.emulate.torch_ops.formula import gradients, wide, wide_or_none
from jumar.emulate.torch_ops.registry import operator


@operator()
def npu_deformable_conv2d(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    bias: Tensor | None,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: Sequence[int] = (1, 1, 1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
    modulated: bool = True,
) -> tuple[Tensor, Tensor]:
    """The result, and what the taps read: (batch, channels, rows * kernel rows, columns * kernel columns)."""
    kernel = tuple(weight.shape[2:])
    read = read_taps(wide(input), wide(offset), kernel, stride, padding, dilation, deformable_groups, modulated)
    out = F.conv2d(read, wide(weight), wide_or_none(bias), stride=kernel, groups=groups)
    return out.to(input.dtype), read.to(input.dtype)


@operator()
def npu_deformable_conv2dbk(
    input: Tensor,
    grad_output: Tensor,
    offset_out: Tensor,
    weight: Tensor,
    offset: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: Sequence[int] = (1, 1, 1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
    modulated: bool = True,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    kernel = tuple(weight.shape[2:])

    def formula(x: Tensor, taps: Tensor, places: Tensor) -> Tensor:
        read = read_taps(x, places, kernel, stride, padding, dilation, deformable_groups, modulated)
        return F.conv2d(read, taps, stride=kernel, groups=groups)

    dx, dw, d_offset = gradients(formula, [input, weight, offset], grad_output)
    return dx, dw, d_offset, wide(grad_output).sum((0, 2, 3)).to(weight.dtype)


def read_taps(
    x: Tensor,
    offset: Tensor,
    kernel: tuple[int, ...],
    stride: list[int],
    padding: list[int],
    dilation: Sequence[int],
    groups: int,
    modulated: bool,
) -> Tensor:
    batch, channels = x.shape[:2]
    rows, columns = offset.shape[2:]
    parts = offset.view(batch, -1, groups, *kernel, rows, columns)
    # Strides and dilations are of all four dimensions, paddings top, bottom, left, right.
    across = _taps(columns, kernel[1], stride[-1], padding[2], dilation[-1], x).view(kernel[1], 1, columns)
    down = _taps(rows, kernel[0], stride[-2], padding[0], dilation[-2], x).view(kernel[0], 1, rows, 1)
    values = _between(x.unflatten(1, (groups, -1)), parts[:, 1] + down, parts[:, 0] + across)
    if modulated:
        values = values * parts[:, 2].unsqueeze(2)
    # (batch, group, channel, kernel y, kernel x, row, column) to the taps side by side
    values = values.permute(0, 1, 2, 5, 3, 6, 4)
    return values.reshape(batch, channels, rows * kernel[0], columns * kernel[1])


def _taps(count: int, taps: int, stride: int, padding: int, dilation: int, like: Tensor) -> Tensor:
    kernel, places = torch.arange(taps, device=like.device), torch.arange(count, device=like.device)
    return kernel.unsqueeze(1) * dilation + places * stride - padding


def _between(x: Tensor, y_at: Tensor, x_at: Tensor) -> Tensor:
    """Bilinear values of `x` (batch, group, channel, height, width), zero outside."""
    height, width = x.shape[-2:]
    flat = x.flatten(-2)
    total = flat.new_zeros(())
    top, left = y_at.detach().floor(), x_at.detach().floor()
    for y, x_ in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
        inside = (y >= 0) & (y < height) & (x_ >= 0) & (x_ < width)
        share = (1 - (y_at - y).abs()) * (1 - (x_at - x_).abs()) * inside
        index = (y.clamp(0, height - 1) * width + x_.clamp(0, width - 1)).long()
        taken = flat.gather(-1, index.flatten(2).unsqueeze(2).expand(-1, -1, flat.shape[2], -1))
        total = total + taken.unflatten(-1, index.shape[2:]) * share.unsqueeze(2)
    return total
