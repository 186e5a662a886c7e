"""aten operators of synchronised batch normalisation: devices have them, torch's CPU backend does not.

Formulas as in torch.nn.SyncBatchNorm and the batch normalisation paper (arXiv 1502.03167); statistics are float32.
"""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.formulas import norm as formulas
from jumar.emulate.torch_ops.formula import wide, wide_or_none
from jumar.emulate.torch_ops.registry import operator


@operator("aten::batch_norm_stats")
def batch_norm_stats(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    return formulas.batch_statistics(wide(input), eps)


@operator("aten::batch_norm_elemt")
def batch_norm_elemt(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float
) -> Tensor:
    statistics = wide(mean), wide(invstd)
    return formulas.batch_norm(wide(input), wide_or_none(weight), wide_or_none(bias), *statistics).to(input.dtype)


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
    overall, variance, total = formulas.gathered_statistics(wide(mean), wide(invstd), wide(counts), eps)
    if running_mean is not None:
        running_mean.copy_(formulas.running_statistics(running_mean, overall.to(running_mean.dtype), momentum))
    if running_var is not None:
        unbiased = variance * total / (total - 1)
        running_var.copy_(formulas.running_statistics(running_var, unbiased.to(running_var.dtype), momentum))
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
    total, product = formulas.batch_norm_sums(wide(grad_out), wide(input), wide(mean))
    kind = weight.dtype if weight is not None else total.dtype
    none = torch.empty(0)
    return (
        total if input_g else none,
        product if input_g else none,
        (product * invstd).to(kind) if weight_g else none,
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
    return formulas.batch_norm_backward(
        wide(grad_out), wide(input), wide(mean), invstd, weight, sum_dy, sum_dy_xmu, wide(count).sum()
    ).to(input.dtype)
