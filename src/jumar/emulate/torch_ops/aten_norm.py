"""aten operators of synchronised batch normalisation: devices have them, torch's CPU backend does not.

Formulas as in torch.nn.SyncBatchNorm and the batch normalisation paper (arXiv 1502.03167); statistics are float32.
"""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.registry import operator


@operator("aten::batch_norm_stats")
def batch_norm_stats(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    x = wide(input)
    mean = x.mean(_all_but_channels(x))
    variance = x.var(_all_but_channels(x), unbiased=False)
    return mean, torch.rsqrt(variance + eps)


@operator("aten::batch_norm_elemt")
def batch_norm_elemt(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float
) -> Tensor:
    x = (wide(input) - _spread(mean, input)) * _spread(invstd, input)
    if weight is not None:
        x = x * _spread(weight, input)
    if bias is not None:
        x = x + _spread(bias, input)
    return x.to(input.dtype)


@operator("aten::batch_norm_gather_stats_with_counts")
def batch_norm_gather_stats_with_counts(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    count = wide(counts).reshape(-1, 1)
    total = count.sum()
    means, variances = wide(mean), wide(invstd).pow(-2) - eps
    overall = (means * count).sum(0) / total
    variance = ((variances + (means - overall) ** 2) * count).sum(0) / total
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(overall.to(running_mean.dtype), alpha=momentum)
    if running_var is not None:
        unbiased = variance * total / (total - 1)
        running_var.mul_(1 - momentum).add_(unbiased.to(running_var.dtype), alpha=momentum)
    return overall.to(mean.dtype), torch.rsqrt(variance + eps).to(mean.dtype)


@operator("aten::batch_norm_backward_reduce")
def batch_norm_backward_reduce(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    dims = _all_but_channels(input)
    grad = wide(grad_out)
    total = grad.sum(dims)
    with_input = (grad * (wide(input) - _spread(mean, input))).sum(dims)
    kind = weight.dtype if weight is not None else total.dtype
    none = torch.empty(0)
    return (
        total if input_g else none,
        with_input if input_g else none,
        (with_input * invstd).to(kind) if weight_g else none,
        total.to(kind) if bias_g else none,
    )


@operator("aten::batch_norm_backward_elemt")
def batch_norm_backward_elemt(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
) -> Tensor:
    total = wide(count).sum()
    scale = invstd if weight is None else invstd * weight
    centred = wide(input) - _spread(mean, input)
    projected = centred * _spread(invstd * invstd * sum_dy_xmu / total, input)
    return ((wide(grad_out) - _spread(sum_dy / total, input) - projected) * _spread(scale, input)).to(input.dtype)


def _all_but_channels(x: Tensor) -> list[int]:
    return [dim for dim in range(x.dim()) if dim != 1]


def _spread(per_channel: Tensor, like: Tensor) -> Tensor:
    return wide(per_channel).reshape(1, -1, *[1] * (like.dim() - 2))
