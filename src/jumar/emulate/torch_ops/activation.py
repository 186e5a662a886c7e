"""Activations: gelu and its approximations, mish, silu, gated units, forward and backward."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from jumar.emulate.formulas import activation as formulas
from jumar.emulate.torch_ops.formula import wide
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
    return formulas.fast_gelu(wide(input)).to(input.dtype)


@operator()
def npu_fast_gelu_backward(grad: Tensor, input: Tensor) -> Tensor:
    return formulas.fast_gelu_backward(wide(grad), wide(input)).to(input.dtype)


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
    return formulas.swiglu(wide(input), dim).to(input.dtype)


@operator()
def npu_swiglu_backward(grad_output: Tensor, input: Tensor, dim: int = -1) -> Tensor:
    return formulas.swiglu_backward(wide(grad_output), wide(input), dim).to(input.dtype)


@operator()
def npu_geglu(input: Tensor, dim: int = -1, approximate: int = 1, activate_left: bool = False) -> tuple[Tensor, Tensor]:
    how = _gelu_name(approximate)
    product, gelu = formulas.geglu(wide(input), dim, approximate=how, gate_first=activate_left)
    return product.to(input.dtype), gelu.to(input.dtype)


@operator()
def npu_geglu_grad(
    grad_output: Tensor,
    input: Tensor,
    gelu: Tensor,
    dim: int = -1,
    approximate: int = 1,
    activate_left: bool = False,
) -> Tensor:
    x, how = wide(input), _gelu_name(approximate)
    found = formulas.geglu_backward(wide(grad_output), x, dim, approximate=how, gate_first=activate_left)
    return found.to(input.dtype)


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
    result = formulas.clipped_swiglu(gate, up, alpha=alpha, limit=limit, bias=bias)
    if group_index is not None:
        result[int(group_index.sum()) :] = 0
    return result.reshape(shape).to(x.dtype)
