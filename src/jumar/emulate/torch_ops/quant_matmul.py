"""Matrix products with quantised operands: eight and four bits, scales per tensor, channel, token, group."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from jumar.emulate.formulas.quantize import divide, scale_of
from jumar.emulate.torch_ops.formula import data_type, wide
from jumar.emulate.torch_ops.integers import plain_type, product, to_integers, unpack_int4, unpack_scale
from jumar.emulate.torch_ops.registry import not_emulated, operator


@operator()
def npu_quant_matmul(
    x1: Tensor,
    x2: Tensor,
    scale: Tensor,
    *,
    offset: Tensor | None = None,
    pertoken_scale: Tensor | None = None,
    bias: Tensor | None = None,
    output_dtype: int | None = None,
    x1_dtype: int | None = None,
    x2_dtype: int | None = None,
    pertoken_scale_dtype: int | None = None,
    scale_dtype: int | None = None,
    group_sizes: list[int] | None = None,
    y_scale: Tensor | None = None,
) -> Tensor:
    if y_scale is not None or any((x1_dtype, x2_dtype, scale_dtype, pertoken_scale_dtype)):
        raise not_emulated("npu_quant_matmul", "with `y_scale` or a given data type of an operand")
    if any(group_sizes or []):
        return _by_groups(x1, x2, scale, offset, pertoken_scale, group_sizes or [], plain_type(output_dtype))
    y = product(x1, x2)
    target = plain_type(output_dtype)
    if bias is not None and bias.dtype == torch.int32:
        y = y + bias
    if target == torch.int32:
        return y.to(torch.int32)
    y = y.float() * unpack_scale(scale)
    if pertoken_scale is not None:
        y = y * pertoken_scale.float().unsqueeze(-1)
    if bias is not None and bias.dtype != torch.int32:
        y = y + bias.float()
    if offset is not None:
        y = y + offset.float()
    return to_integers(y, target)


def _by_groups(
    x1: Tensor,
    x2: Tensor,
    scale: Tensor,
    offset: Tensor | None,
    token_scale: Tensor | None,
    sizes: list[int],
    target: torch.dtype,
) -> Tensor:
    """Eight bits by four, with a scale per group of inner elements.

    The device takes x apart into two nibbles, the lower one less 8; the caller's offset makes up for that 8.
    """
    if x1.dtype != torch.int8 or x2.dtype != torch.int32 or len(sizes) != 3 or any(sizes[:2]):
        raise not_emulated("npu_quant_matmul", "with `group_sizes` other than for int8 by packed int4")
    weight = unpack_int4(x2)
    y = torch.zeros(x1.shape[0], weight.shape[1])
    for i, start in enumerate(range(0, x1.shape[1], sizes[2])):
        part = slice(start, start + sizes[2])
        y += ((x1[:, part].double() - 8) @ weight[part].double()).float() * unpack_scale(scale[i])
    y = y if offset is None else y + offset.float()
    return to_integers(y if token_scale is None else y * token_scale.float().reshape(-1, 1), target)


@operator()
def npu_weight_quant_batchmatmul(
    x: Tensor,
    weight: Tensor,
    antiquant_scale: Tensor,
    antiquant_offset: Tensor | None = None,
    quant_scale: Tensor | None = None,
    quant_offset: Tensor | None = None,
    bias: Tensor | None = None,
    antiquant_group_size: int = 0,
    inner_precise: int = 0,
    weight_dtype: int | None = None,
) -> Tensor:
    y = wide(x) @ dequantised(weight, antiquant_scale, antiquant_offset, antiquant_group_size)
    if bias is not None:
        y = y + wide(bias)
    if quant_scale is None:
        return y.to(x.dtype)
    y = y * unpack_scale(quant_scale)
    return to_integers(y if quant_offset is None else y + quant_offset.float(), torch.int8)


def dequantised(
    weight: Tensor, scale: Tensor, offset: Tensor | None, group: int = 0, kind: torch.dtype = torch.float32
) -> Tensor:
    """(weight + offset) * scale in steps of `kind`, each row of scales serving `group` rows of the weight."""
    values = (unpack_int4(weight) if weight.dtype == torch.int32 else weight).to(kind)
    scales = unpack_scale(scale).to(kind)
    offsets = None if offset is None else offset.to(kind)
    if group > 0:
        scales = scales.repeat_interleave(group, -2)[..., : values.shape[-2], :]
        offsets = None if offsets is None else offsets.repeat_interleave(group, -2)[..., : values.shape[-2], :]
    return (values if offsets is None else values + offsets) * scales


@operator()
def npu_quant_matmul_dequant(
    x: Tensor,
    quantized_weight: Tensor,
    weight_scale: Tensor,
    *,
    bias: Tensor | None = None,
    x_scale: Tensor | None = None,
    x_offset: Tensor | None = None,
    smooth_scale: Tensor | None = None,
    quant_mode: str | None = "pertoken",
) -> Tensor:
    values = wide(x) if smooth_scale is None else wide(x) * wide(smooth_scale)
    if x_scale is None:
        x_scale = scale_of(values)
    else:
        x_scale = x_scale.float().reshape(-1, 1) if quant_mode == "pertoken" else x_scale.float()
    rounded = to_integers(divide(values, x_scale), torch.int8)
    y = product(rounded, quantized_weight.transpose(-1, -2)).float() * x_scale * unpack_scale(weight_scale)
    return (y if bias is None else y + bias.float()).to(x.dtype)


@operator()
def npu_quant_matmul_gelu(
    x1: Tensor,
    x2: Tensor,
    x1_scale: Tensor,
    x2_scale: Tensor,
    *,
    bias: Tensor | None = None,
    approximate: str | None = "gelu_erf",
) -> Tensor:
    y = product(x1, x2)
    if bias is not None and bias.dtype == torch.int32:
        y = y + bias
    y = y.float() * unpack_scale(x2_scale) * x1_scale.float().reshape(-1, 1)
    if bias is not None and bias.dtype != torch.int32:
        y = y + bias.float()
    y = F.gelu(y, approximate="tanh" if approximate == "gelu_tanh" else "none")
    return y.to(torch.bfloat16 if x2_scale.dtype == torch.bfloat16 else torch.float16)


@operator()
def npu_quant_matmul_reduce_sum(
    x1: Tensor, x2: Tensor, *, x1_scale: Tensor | None = None, x2_scale: Tensor | None = None
) -> Tensor:
    y = product(x1, x2).float()
    if x2_scale is not None:
        y = y * unpack_scale(x2_scale)
    if x1_scale is not None:
        y = y * x1_scale.float().unsqueeze(-1)
    return y.sum(0).to(torch.bfloat16)


@operator()
def npu_quant_conv2d(
    input: Tensor,
    weight: Tensor,
    scale: Tensor,
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0),
    dilations: Sequence[int] = (1, 1),
    groups: int = 1,
    offset_x: int = 0,
    round_mode: str = "rint",
    output_dtype: int | None = None,
    bias: Tensor | None = None,
    offset: Tensor | None = None,
    input_dtype: int | None = None,
    weight_dtype: int | None = None,
) -> Tensor:
    x = F.pad(input.double(), (pads[1], pads[1], pads[0], pads[0]), value=float(offset_x))
    y = F.conv2d(x, weight.double(), None if bias is None else bias.double(), strides, 0, dilations, groups)
    return (y.float() * unpack_scale(scale).view(1, -1, 1, 1)).to(data_type(output_dtype, torch.float16))
