"""Matrix products with something fused in: linear, bmm variants, transposes, feed-forward blocks."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from jumar.emulate.formulas.activation import GATES, INSIDE, inside
from jumar.emulate.torch_ops.formula import wide, wide_or_none
from jumar.emulate.torch_ops.integers import product, to_integers, unpack_scale
from jumar.emulate.torch_ops.quant_matmul import dequantised
from jumar.emulate.torch_ops.registry import not_emulated, operator


@operator()
def npu_linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return F.linear(wide(input), wide(weight), wide_or_none(bias)).to(input.dtype)


@operator()
def npu_linear_backward(grad: Tensor, input: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    rows, d = wide(input).reshape(-1, input.shape[-1]), wide(grad).reshape(-1, grad.shape[-1])
    return (wide(grad) @ wide(weight)).to(input.dtype), (d.t() @ rows).to(weight.dtype)


@operator()
def npu_bmmV2(input: Tensor, mat2: Tensor, output_sizes: list[int]) -> Tensor:
    y = (wide(input) @ wide(mat2)).to(input.dtype)
    return y.reshape(output_sizes) if output_sizes else y


@operator()
def npu_bmm_v2_mat1_backward(grad: Tensor, mat1: Tensor, mat2: Tensor, size: list[int]) -> Tensor:
    d = _of_product(grad, mat1, mat2)
    return (d @ wide(mat2).mT).sum_to_size(mat1.shape).reshape(size).to(mat1.dtype)


@operator()
def npu_bmm_v2_mat2_backward(grad: Tensor, mat1: Tensor, mat2: Tensor, size: list[int]) -> Tensor:
    d = _of_product(grad, mat1, mat2)
    return (wide(mat1).mT @ d).sum_to_size(mat2.shape).reshape(size).to(mat2.dtype)


def _of_product(grad: Tensor, mat1: Tensor, mat2: Tensor) -> Tensor:
    batch = torch.broadcast_shapes(mat1.shape[:-2], mat2.shape[:-2])
    return wide(grad).reshape(*batch, mat1.shape[-2], mat2.shape[-1])


@operator()
def npu_transpose_batchmatmul(
    input: Tensor,
    weight: Tensor,
    *,
    bias: Tensor | None = None,
    scale: Tensor | None = None,
    perm_x1: list[int] | None = None,
    perm_x2: list[int] | None = None,
    perm_y: list[int] | None = None,
    batch_split_factor: int | None = 1,
) -> Tensor:
    a = wide(input).permute(perm_x1 or [0, 1, 2])
    b = wide(weight).permute(perm_x2 or [0, 1, 2])
    y = a @ b
    if bias is not None:
        y = y + wide(bias)
    y = y.permute(perm_y or [1, 0, 2])
    if scale is not None:
        # With a scale the batch and the columns are one dimension of an int8 result.
        flat = y.reshape(y.shape[0], 1, -1) * unpack_scale(scale)
        return flat.round().clamp(-128, 127).to(torch.int8)
    if batch_split_factor and batch_split_factor > 1:
        split = y.unflatten(1, (batch_split_factor, -1)).transpose(0, 1)
        return split.flatten(2).contiguous().to(input.dtype)
    return y.contiguous().to(input.dtype)


@operator()
def npu_fused_matmul(
    x1: Tensor, x2: Tensor, *, bias: Tensor | None = None, x3: Tensor | None = None, fused_op_type: str = ""
) -> Tensor:
    y = wide(x1) @ wide(x2)
    if bias is not None:
        y = y + wide(bias)
    if fused_op_type in ("add", "mul"):
        if x3 is None:
            raise RuntimeError(f"x3 is needed when fused_op_type is {fused_op_type}")
        y = y + wide(x3) if fused_op_type == "add" else y * wide(x3)
    elif fused_op_type in ("gelu_erf", "gelu_tanh"):
        y = F.gelu(y, approximate="tanh" if fused_op_type == "gelu_tanh" else "none")
    elif fused_op_type == "relu":
        y = F.relu(y)
    elif fused_op_type not in ("", "16cast32"):
        raise RuntimeError(f"fused_op_type is not known: {fused_op_type}")
    return y if fused_op_type == "16cast32" else y.to(x1.dtype)


@operator()
def npu_ffn(
    x: Tensor,
    weight1: Tensor,
    weight2: Tensor,
    activation: str,
    *,
    expert_tokens: list[int] | None = None,
    expert_tokens_index: list[int] | None = None,
    bias1: Tensor | None = None,
    bias2: Tensor | None = None,
    scale: Tensor | None = None,
    offset: Tensor | None = None,
    deq_scale1: Tensor | None = None,
    deq_scale2: Tensor | None = None,
    antiquant_scale1: Tensor | None = None,
    antiquant_scale2: Tensor | None = None,
    antiquant_offset1: Tensor | None = None,
    antiquant_offset2: Tensor | None = None,
    inner_precise: int | None = None,
    output_dtype: torch.dtype | None = None,
) -> Tensor:
    """activation(x @ weight1 + bias1) @ weight2 + bias2, each expert on its own rows."""
    if deq_scale1 is not None:
        if expert_tokens or expert_tokens_index or deq_scale2 is None or scale is None:
            raise not_emulated("npu_ffn", "on quantised input with experts or without all its scales")
        half = _dequantised_product(x, weight1, bias1, deq_scale1).half()
        y = activate(wide(half), activation).half() * scale.half()
        inner = to_integers(y if offset is None else y + offset.half(), torch.int8)
        return _dequantised_product(inner, weight2, bias2, deq_scale2).to(output_dtype or torch.float16)
    rows = wide(x).reshape(-1, x.shape[-1])
    ends = list(expert_tokens_index or [])
    for count in expert_tokens or []:
        ends.append((ends[-1] if ends else 0) + count)

    def part(t: Tensor | None, i: int) -> Tensor | None:
        return None if t is None else wide(t)[i] if ends else wide(t)

    def weight(t: Tensor, s: Tensor | None, o: Tensor | None, i: int) -> Tensor:
        own = t[i] if ends else t
        if s is None:
            return wide(own)
        return wide(dequantised(own, s[i] if ends else s, None if o is None else o[i] if ends else o, kind=x.dtype))

    out = []
    start = 0
    for i, end in enumerate(ends or [rows.shape[0]]):
        y = rows[start:end] @ weight(weight1, antiquant_scale1, antiquant_offset1, i)
        y = y if bias1 is None else y + part(bias1, i)
        y = activate(y, activation) @ weight(weight2, antiquant_scale2, antiquant_offset2, i)
        out.append(y if bias2 is None else y + part(bias2, i))
        start = end
    result = torch.cat(out)
    return result.view(*x.shape[:-1], result.shape[-1]).to(output_dtype or x.dtype)


def _dequantised_product(x: Tensor, weight: Tensor, bias: Tensor | None, scale: Tensor) -> Tensor:
    y = product(x, weight)
    return (y if bias is None else y + bias.double()).float() * unpack_scale(scale)


def activate(x: Tensor, name: str) -> Tensor:
    if name not in INSIDE and name not in GATES:
        raise RuntimeError(f"activation is not known: {name}")
    return inside(x, name)
