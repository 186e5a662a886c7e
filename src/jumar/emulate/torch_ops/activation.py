"""Activations: gelu and its approximations, mish, silu, gated units, forward and backward."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from jumar.emulate.torch_ops.formula import gradients, wide
from jumar.emulate.torch_ops.registry import operator


@operator()
def npu_gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    return F.gelu(input, approximate=approximate)


@operator()
def npu_gelu_backward(grad_output: Tensor, input: Tensor, *, approximate: str = "none") -> Tensor:
    return torch.ops.aten.gelu_backward(grad_output, input, approximate=approximate)


@operator()
def npu_gelu_mul(input: Tensor, *, approximate: str = "none") -> Tensor:
    left, right = wide(input).chunk(2, dim=-1)
    return (F.gelu(left, approximate=approximate) * right).to(input.dtype)


@operator("npu_fast_gelu", "fast_gelu")
def npu_fast_gelu(input: Tensor) -> Tensor:
    return _fast_gelu(wide(input)).to(input.dtype)


@operator()
def npu_fast_gelu_backward(grad: Tensor, input: Tensor) -> Tensor:
    return gradients(_fast_gelu, [input], grad)[0]


def _fast_gelu(x: Tensor) -> Tensor:
    # x * exp(0.851 (x - |x|)) / (1 + exp(-1.702 |x|)), which is x * sigmoid(1.702 x).
    return x * torch.sigmoid(1.702 * x)


@operator()
def npu_mish(input: Tensor) -> Tensor:
    return F.mish(input)


@operator()
def npu_mish_backward(grad: Tensor, input: Tensor) -> Tensor:
    return torch.ops.aten.mish_backward(grad, input)


@operator()
def npu_silu(input: Tensor) -> Tensor:
    return F.silu(input)


@operator()
def npu_silu_backward(grad_output: Tensor, x0: Tensor, x1: Tensor) -> Tensor:
    return torch.ops.aten.silu_backward(grad_output, x0)


@operator()
def npu_swiglu(input: Tensor, dim: int = -1) -> Tensor:
    return _swiglu(wide(input), dim).to(input.dtype)


@operator()
def npu_swiglu_backward(grad_output: Tensor, input: Tensor, dim: int = -1) -> Tensor:
    return gradients(lambda x: _swiglu(x, dim), [input], grad_output)[0]


def _swiglu(x: Tensor, dim: int) -> Tensor:
    gate, value = x.chunk(2, dim=dim)
    return F.silu(gate) * value


@operator()
def npu_geglu(input: Tensor, dim: int = -1, approximate: int = 1, activate_left: bool = False) -> tuple[Tensor, Tensor]:
    value, gate = _halves(wide(input), dim, activate_left)
    gelu = F.gelu(gate, approximate=_gelu_name(approximate))
    return (value * gelu).to(input.dtype), gelu.to(input.dtype)


@operator()
def npu_geglu_grad(
    grad_output: Tensor,
    input: Tensor,
    gelu: Tensor,
    dim: int = -1,
    approximate: int = 1,
    activate_left: bool = False,
) -> Tensor:
    def formula(x: Tensor) -> Tensor:
        value, gate = _halves(x, dim, activate_left)
        return value * F.gelu(gate, approximate=_gelu_name(approximate))

    return gradients(formula, [input], grad_output)[0]


def _halves(x: Tensor, dim: int, activate_left: bool) -> tuple[Tensor, Tensor]:
    left, right = x.chunk(2, dim=dim)
    return (right, left) if activate_left else (left, right)


def _gelu_name(approximate: int) -> str:
    return "tanh" if approximate == 1 else "none"


@operator()
def npu_clipped_swiglu(
    x: Tensor,
    *,
    group_index: Tensor | None = None,
    dim: int = -1,
    alpha: float = 1.702,
    limit: float = 7.0,
    bias: float = 1.0,
    interleaved: bool = True,
) -> Tensor:
    values = wide(x)
    dim %= x.dim()
    shape = list(x.shape)
    shape[dim] //= 2
    rows = values.flatten(0, dim - 1) if dim > 0 else values.unsqueeze(0)
    rows = rows.flatten(1)
    if interleaved:
        gate, up = rows[:, 0::2], rows[:, 1::2]
    else:
        gate, up = rows.chunk(2, dim=1)
    gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
    result = gate * torch.sigmoid(alpha * gate) * (up + bias)
    if group_index is not None:
        result[int(group_index.sum()) :] = 0
    return result.reshape(shape).to(x.dtype)
