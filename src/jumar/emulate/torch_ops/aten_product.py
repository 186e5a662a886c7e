"""aten products that devices have and torch's CPU backend has not, or not for every data type."""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.torch_ops.formula import gradients
from jumar.emulate.torch_ops.registry import operator


@operator("aten::mm.dtype", "aten::bmm.dtype")
def product(self: Tensor, mat2: Tensor, out_dtype: torch.dtype) -> Tensor:
    return torch.matmul(self.to(out_dtype), mat2.to(out_dtype))


@operator("aten::addmm.dtype")
def addmm(
    self: Tensor, mat1: Tensor, mat2: Tensor, out_dtype: torch.dtype, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    return torch.addmm(self.to(out_dtype), mat1.to(out_dtype), mat2.to(out_dtype), beta=beta, alpha=alpha)


@operator("aten::baddbmm.dtype")
def baddbmm(
    self: Tensor, batch1: Tensor, batch2: Tensor, out_dtype: torch.dtype, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    return torch.baddbmm(self.to(out_dtype), batch1.to(out_dtype), batch2.to(out_dtype), beta=beta, alpha=alpha)


@operator("aten::mm.dtype_out", "aten::bmm.dtype_out")
def product_out(self: Tensor, mat2: Tensor, out_dtype: torch.dtype, *, out: Tensor) -> Tensor:
    return _into(out, product(self, mat2, out_dtype))


@operator("aten::addmm.dtype_out")
def addmm_out(
    self: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    out_dtype: torch.dtype,
    *,
    beta: float = 1,
    alpha: float = 1,
    out: Tensor,
) -> Tensor:
    return _into(out, addmm(self, mat1, mat2, out_dtype, beta=beta, alpha=alpha))


@operator("aten::baddbmm.dtype_out")
def baddbmm_out(
    self: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    out_dtype: torch.dtype,
    *,
    beta: float = 1,
    alpha: float = 1,
    out: Tensor,
) -> Tensor:
    return _into(out, baddbmm(self, batch1, batch2, out_dtype, beta=beta, alpha=alpha))


@operator("aten::matmul_backward")
def matmul_backward(grad: Tensor, self: Tensor, other: Tensor, mask: list[bool]) -> tuple[Tensor | None, Tensor | None]:
    first, second = gradients(torch.matmul, (self, other), grad)
    return (first if mask[0] else None, second if mask[1] else None)


@operator("aten::_conv_depthwise2d")
def conv_depthwise2d(
    self: Tensor,
    weight: Tensor,
    kernel_size: list[int],
    bias: Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
) -> Tensor:
    return torch.conv2d(self, weight, bias, stride, padding, dilation, groups=self.size(1))


@operator("aten::_masked_scale")
def masked_scale(self: Tensor, mask: Tensor, scale: float) -> Tensor:
    return self * mask.to(self.dtype) * scale


@operator("aten::_add_relu.Tensor")
def add_relu(self: Tensor, other: Tensor, *, alpha: float = 1) -> Tensor:
    return torch.add(self, other, alpha=alpha).relu_()


@operator("aten::_add_relu.Scalar")
def add_relu_scalar(self: Tensor, other: float, alpha: float = 1) -> Tensor:
    return torch.add(self, other, alpha=alpha).relu_()


@operator("aten::_add_relu_.Tensor", "aten::_add_relu_.Scalar")
def add_relu_in_place(self: Tensor, other: Tensor | float, alpha: float = 1) -> Tensor:
    return self.add_(other, alpha=alpha).relu_()


@operator("aten::_add_relu.out")
def add_relu_out(self: Tensor, other: Tensor, *, alpha: float = 1, out: Tensor) -> Tensor:
    return torch.add(self, other, alpha=alpha, out=out).relu_()


def _into(out: Tensor, result: Tensor) -> Tensor:
    return out.resize_(result.shape).copy_(result)
