"""Normalisation: RMS, layer, deep and group norms with the additions and activations fused into them."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from jumar.core.compat import zip
from jumar.emulate.formulas import norm as formulas
from jumar.emulate.formulas.activation import swish
from jumar.emulate.torch_ops.formula import gradients, wide, wide_or_none
from jumar.emulate.torch_ops.registry import operator


@operator()
def npu_rms_norm(input: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    y, rstd = formulas.rms_norm(wide(input), wide(gamma), epsilon)
    return y.to(input.dtype), rstd.float()


@operator()
def npu_rms_norm_backward(dy: Tensor, input: Tensor, gamma: Tensor, rstd: Tensor) -> tuple[Tensor, Tensor]:
    x = wide(input)
    dx, dgamma = formulas.rms_norm_backward(wide(dy), x, wide(gamma), rstd.to(x.dtype))
    return dx.to(input.dtype), dgamma.float()


@operator()
def npu_gemma_rms_norm(input: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    y, rstd = formulas.rms_norm(wide(input), 1 + wide(gamma), epsilon)
    return y.to(input.dtype), rstd.float()


@operator()
def npu_add_rms_norm(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor, Tensor]:
    x = wide(x1) + wide(x2)
    y, rstd = formulas.rms_norm(x, wide(gamma), epsilon)
    return y.to(x1.dtype), rstd.float(), x.to(x1.dtype)


@operator()
def npu_add_rms_norm_v2(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> Tensor:
    """Writes the result over x1 and the sum over x2."""
    y, rstd, x = npu_add_rms_norm(x1, x2, gamma, epsilon)
    x1.copy_(y)
    x2.copy_(x)
    return rstd


@operator()
def npu_add_rms_norm_v2_functional(
    x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor]:
    y, rstd, x = npu_add_rms_norm(x1, x2, gamma, epsilon)
    return rstd, y, x


@operator()
def npu_add_rms_norm_cast(
    x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    x = wide(x1) + wide(x2)
    y, rstd = formulas.rms_norm(x, wide(gamma), epsilon)
    y = y.to(x1.dtype)
    return y.float(), y, rstd.float(), x.to(x1.dtype)


@operator()
def npu_add_layer_norm(
    x1: Tensor,
    x2: Tensor,
    gamma: Tensor,
    beta: Tensor,
    epsilon: float = 1e-5,
    additional_output: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    x = wide(x1) + wide(x2)
    y, mean, rstd = formulas.layer_norm(x, wide(gamma), wide(beta), epsilon)
    dtype = torch.promote_types(x1.dtype, x2.dtype)
    total = x.to(dtype) if additional_output else torch.empty(x.shape, dtype=dtype)
    return y.to(dtype), mean.float(), rstd.float(), total


@operator()
def npu_add_layer_norm_backward(
    dy_opt: Tensor | None,
    x1: Tensor,
    x2: Tensor,
    rstd: Tensor,
    mean: Tensor,
    gamma: Tensor,
    dsum_opt: Tensor | None,
) -> tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]:
    x = wide(x1) + wide(x2)
    d = torch.zeros_like(x) if dy_opt is None else wide(dy_opt)
    dx, dgamma, dbeta = formulas.layer_norm_backward(d, x, wide(gamma), mean.to(x.dtype), rstd.to(x.dtype))
    if dsum_opt is not None and dsum_opt.numel():
        dx = dx + wide(dsum_opt)
    return dx.to(x1.dtype), dx.to(x2.dtype), dgamma.to(gamma.dtype), dbeta.to(gamma.dtype)


@operator()
def npu_deep_norm(
    x: Tensor, gx: Tensor, beta: Tensor, gamma: Tensor, alpha: float = 0.3, epsilon: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor]:
    total = alpha * wide(x) + wide(gx)
    y, mean, rstd = formulas.layer_norm(total, wide(gamma), wide(beta), epsilon)
    return mean.float(), rstd.float(), y.to(x.dtype)


@operator()
def npu_deep_norm_backward(
    dy: Tensor, x: Tensor, gx: Tensor, gamma: Tensor, mean: Tensor, rstd: Tensor, alpha: float = 0.3
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    total = alpha * wide(x) + wide(gx)
    dx, dgamma, dbeta = formulas.layer_norm_backward(
        wide(dy), total, wide(gamma), mean.to(total.dtype), rstd.to(total.dtype)
    )
    return (alpha * dx).to(x.dtype), dx.to(gx.dtype), dbeta.float(), dgamma.float()


@operator()
def npu_layer_norm_eval(
    input: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


@operator()
def npu_layernorm_grad(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: list[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    dx, dweight, dbias = torch.ops.aten.native_layer_norm_backward(
        grad_out, input, normalized_shape, mean, rstd, weight, bias, [True, True, True]
    )
    return dx, dweight, dbias


@operator()
def npu_group_norm_silu(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, group: int, eps: float = 1e-5
) -> tuple[Tensor, Tensor, Tensor]:
    y, mean, rstd = formulas.group_norm(wide(input), group, wide_or_none(weight), wide_or_none(bias), eps)
    return F.silu(y).to(input.dtype), mean.to(input.dtype), rstd.to(input.dtype)


@operator()
def npu_group_norm_swish(
    input: Tensor,
    num_groups: int,
    weight: Tensor,
    bias: Tensor,
    eps: float | None = 1e-5,
    swish_scale: float | None = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    y, mean, rstd = formulas.group_norm(wide(input), num_groups, wide(weight), wide(bias), 1e-5 if eps is None else eps)
    return _swish(y, swish_scale).to(input.dtype), mean.float(), rstd.float()


@operator()
def npu_group_norm_swish_grad(
    grad: Tensor,
    input: Tensor,
    num_groups: int,
    weight: Tensor,
    bias: Tensor,
    mean: Tensor,
    rstd: Tensor,
    grad_input_mask: list[bool],
    swish_scale: float | None = 1.0,
) -> tuple[Tensor | None, ...]:
    def formula(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        # mean and rstd were computed with an epsilon that is not passed on: recovered from rstd.
        groups = x.reshape(x.shape[0], num_groups, -1)
        variance = groups.var(-1, correction=0)
        epsilon = (rstd.to(x.dtype).reshape(variance.shape) ** -2 - variance).detach()
        normal = (groups - groups.mean(-1, keepdim=True)) * torch.rsqrt(variance + epsilon).unsqueeze(-1)
        shape = (1, -1, *([1] * (x.dim() - 2)))
        return _swish(normal.reshape(x.shape) * w.view(shape) + b.view(shape), swish_scale)

    found = gradients(formula, [input, weight, bias], grad)
    return tuple(g if wanted else None for g, wanted in zip(found, grad_input_mask, strict=True))


def _swish(y: Tensor, scale: float | None) -> Tensor:
    return swish(y, 1.0 if scale is None else scale)
