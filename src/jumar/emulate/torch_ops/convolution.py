"""Convolutions under NPU names, forward and backward, and the operators of batch norm across cards."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from jumar.emulate.formulas.norm import running_statistics
from jumar.emulate.torch_ops.registry import operator


@operator("npu_conv2d", "npu_conv3d", "npu_convolution")
def npu_convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
) -> Tensor:
    function = F.conv3d if input.dim() == 5 else F.conv2d
    if len(padding) == 4:
        input, padding = F.pad(input, _sides(padding)), [0, 0]
    return function(input, weight, bias, stride, padding, dilation, groups)


def _sides(padding: list[int]) -> list[int]:
    """From top, bottom, left, right to the order of torch, last dimension first."""
    return [*padding[2:], *padding[:2]]


@operator("npu_conv2d_backward", "npu_conv3d_backward", "npu_convolution_backward")
def npu_convolution_backward(
    input: Tensor,
    grad_output: Tensor,
    weight: Tensor,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
    output_mask: list[bool],
) -> tuple[Tensor, Tensor, Tensor]:
    zeros = [0] * (input.dim() - 2)
    if len(padding) == 4:
        padded = F.pad(input, _sides(padding))
        dx, dweight, dbias = npu_convolution_backward(
            padded, grad_output, weight, stride, [0, 0], dilation, groups, output_mask
        )
        return F.pad(dx, [-n for n in _sides(padding)]) if output_mask[0] else dx, dweight, dbias
    dx, dweight, dbias = torch.ops.aten.convolution_backward(
        grad_output,
        input,
        weight,
        [weight.shape[0]],
        stride,
        padding,
        dilation,
        False,
        zeros,
        groups,
        output_mask,
    )
    return dx, dweight, dbias


@operator("npu_conv_transpose2d", "npu_convolution_transpose")
def npu_convolution_transpose(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding: list[int],
    output_padding: list[int],
    stride: list[int],
    dilation: list[int],
    groups: int,
) -> Tensor:
    function = F.conv_transpose3d if input.dim() == 5 else F.conv_transpose2d
    return function(input, weight, bias, stride, padding, output_padding, groups, dilation)


@operator("npu_conv_transpose2d_backward", "npu_conv_transpose3d_backward", "npu_convolution_transpose_backward")
def npu_convolution_transpose_backward(
    input: Tensor,
    grad: Tensor,
    weight: Tensor,
    padding: list[int],
    output_padding: list[int],
    stride: list[int],
    dilation: list[int],
    groups: int,
    grad_input_mask: list[bool],
) -> tuple[Tensor, Tensor, Tensor]:
    channels = weight.shape[1] * groups
    dx, dweight, dbias = torch.ops.aten.convolution_backward(
        grad,
        input,
        weight,
        [channels],
        stride,
        padding,
        dilation,
        True,
        output_padding,
        groups,
        grad_input_mask,
    )
    return dx, dweight, dbias


@operator()
def _conv_depthwise2d_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    output_mask: list[bool],
) -> tuple[Tensor, Tensor]:
    found = npu_convolution_backward(
        input, grad_output, weight, stride, padding, dilation, input.shape[1], [*output_mask, False]
    )
    return found[0], found[1]


@operator()
def slow_conv_dilated2d_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    output_mask: list[bool],
) -> tuple[Tensor, Tensor, Tensor]:
    return npu_convolution_backward(input, grad_output, weight, stride, padding, dilation, 1, output_mask)


@operator()
def slow_conv_transpose2d_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    output_padding: list[int],
    dilation: list[int],
    output_mask: list[bool],
) -> tuple[Tensor, Tensor, Tensor]:
    return npu_convolution_transpose_backward(
        input, grad_output, weight, padding, output_padding, stride, dilation, 1, output_mask
    )


@operator()
def batch_norm_reduce(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Sum and sum of squares per channel, to be added up over the cards."""
    if input.dim() <= 1:
        raise RuntimeError("The dim input tensor [self] must more than 1.")
    dims = [d for d in range(input.dim()) if d != 1]
    return input.float().sum(dims), input.float().square().sum(dims)


@operator()
def batch_norm_gather_stats_update(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    """Statistics of all cards. `mean` and `invstd` are, despite their names, what batch_norm_reduce gave on each."""
    total = counts.float().sum()
    middle = mean.float().sum(0) / total
    variance = invstd.float().sum(0) / total - middle**2
    if running_mean is not None:
        running_mean.copy_(running_statistics(running_mean, middle.to(running_mean.dtype), momentum))
    if running_var is not None:
        running_var.copy_(running_statistics(running_var, variance.to(running_var.dtype), momentum))
    return middle.to(mean.dtype), torch.rsqrt(variance + eps).to(mean.dtype)
