"""Quantisation and back: static, dynamic, per group, asymmetric (Ascend/op-plugin docs, npu_quantize)."""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.formulas.quantize import by_rows, divide
from jumar.emulate.torch_ops.formula import data_type, wide
from jumar.emulate.torch_ops.integers import (
    largest,
    pack_int4,
    pack_scale,
    plain_type,
    to_integers,
    unpack_int4,
)
from jumar.emulate.torch_ops.registry import operator


@operator()
def npu_quantize(
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    dtype: int,
    axis: int = 1,
    div_mode: bool = True,
) -> Tensor:
    scale = _along(scales, input, axis)
    zero = None if zero_points is None else _along(zero_points, input, axis)
    x = input.float()
    if div_mode:
        # As torch.quantize_per_channel: the reciprocal, rounding before the zero point is added.
        x = (x * (1.0 / scale)).round()
    else:
        x = x * scale
    return to_integers(x if zero is None else x + zero, plain_type(dtype))


def _along(values: Tensor, input: Tensor, axis: int) -> Tensor:
    if values.dim() != 1 or values.numel() == 1:
        return values.float()
    shape = [1] * input.dim()
    shape[axis] = -1
    return values.float().view(shape)


@operator("_quantize_per_channel_impl.out")
def _quantize_per_channel_impl(
    inputs: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: torch.dtype, *, result: Tensor
) -> Tensor:
    return result.copy_(npu_quantize(inputs, scales, zero_points, dtype, axis))


@operator("_quantize_per_tensor_impl.out")
def _quantize_per_tensor_impl(
    inputs: Tensor, scales: Tensor, zero_points: Tensor, dtype: torch.dtype, *, result: Tensor
) -> Tensor:
    return result.copy_(npu_quantize(inputs, scales, zero_points, dtype))


@operator()
def npu_dynamic_quant(
    input: Tensor,
    *,
    smooth_scales: Tensor | None = None,
    group_index: Tensor | None = None,
    dst_type: int | None = None,
    quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
) -> tuple[Tensor, Tensor]:
    x = smoothed(input.float(), smooth_scales, group_index)
    target = plain_type(dst_type)
    top = dst_type_max or largest(target)
    if quant_mode == "pertensor":
        steps, scale = by_rows(x, None, top)
        return to_integers(steps, target), scale.reshape(1)
    dim = -2 if quant_mode == "perchannel" else -1
    steps, scale = by_rows(x, dim, top)
    return to_integers(steps, target), scale.squeeze(dim)


@operator()
def npu_dynamic_quant_asymmetric(
    input: Tensor,
    *,
    smooth_scales: Tensor | None = None,
    group_index: Tensor | None = None,
    dst_type: int | None = None,
    quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
) -> tuple[Tensor, Tensor, Tensor]:
    x = smoothed(input.float(), smooth_scales, group_index)
    target = plain_type(dst_type)
    high, steps = (7.0, 15.0) if target == torch.quint4x2 else (127.0, 255.0)
    if quant_mode == "pertensor":
        top, low = x.max().reshape(1), x.min().reshape(1)
    else:
        dim = -2 if quant_mode == "perchannel" else -1
        top, low = x.amax(dim, keepdim=True), x.amin(dim, keepdim=True)
    scale = (top - low) / steps
    offset = high - divide(top, scale)
    y = to_integers(divide(x, scale) + offset, target)
    if quant_mode == "pertensor":
        return y, scale, offset
    return y, scale.squeeze(dim), offset.squeeze(dim)


def smoothed(x: Tensor, scales: Tensor | None, group_index: Tensor | None) -> Tensor:
    """Rows times the smoothing factors, those of their group where groups are given (as running ends)."""
    if scales is None:
        return x
    if group_index is None:
        return x * scales.float()
    rows = x.reshape(-1, x.shape[-1]).clone()
    start = 0
    for i, end in enumerate(group_index.tolist()):
        if end > start:
            rows[start:end] *= scales[i].float()
        start = max(start, end)
    return rows.view(x.shape)


@operator()
def npu_anti_quant(
    x: Tensor,
    scale: Tensor,
    *,
    offset: Tensor | None = None,
    dst_dtype: int | None = None,
    src_dtype: int | None = None,
) -> Tensor:
    values = (unpack_int4(x) if x.dtype == torch.int32 else x).float()
    if offset is not None:
        values = values + offset.float()
    return (values * scale.float()).to(data_type(dst_dtype, torch.float16))


@operator()
def npu_group_quant(
    x: Tensor,
    scale: Tensor,
    group_index: Tensor,
    *,
    offset: Tensor | None = None,
    dst_dtype: torch.dtype | None = None,
) -> Tensor:
    out = torch.zeros(x.shape)
    start = 0
    for i, end in enumerate(group_index.tolist()):
        out[start:end] = x[start:end].float() * scale[i].float()
        start = end
    if offset is not None:
        out = out + offset.float()
    return to_integers(out, plain_type(dst_dtype))


@operator()
def npu_trans_quant_param(scale: Tensor, offset: Tensor | None = None, round_mode: int | None = 0) -> Tensor:
    if offset is not None and scale.numel() != offset.numel():
        scale, offset = torch.broadcast_tensors(scale, offset)
    return pack_scale(scale, offset)


@operator()
def npu_convert_weight_to_int4pack(weight: Tensor, inner_k_tiles: int = 0) -> Tensor:
    return pack_int4(weight)


@operator()
def npu_dequant_bias(
    x: Tensor,
    weight_scale: Tensor,
    activation_scale: Tensor | None,
    bias: Tensor | None,
    *,
    output_dtype: torch.dtype | None = None,
) -> Tensor:
    y = x.float()
    if bias is not None and bias.dtype == torch.int32:
        y = (x + bias).float()
    y = y * weight_scale.float()
    if activation_scale is not None:
        y = y * activation_scale.float().reshape(-1, 1)
    if bias is not None and bias.dtype != torch.int32:
        y = y + bias.float()
    return y.to(output_dtype or torch.float16)


@operator()
def npu_gelu_quant(
    input: Tensor,
    *,
    input_scale: Tensor | None = None,
    input_offset: Tensor | None = None,
    approximate: str = "none",
    quant_mode: str = "dynamic",
    dst_type: int | None = None,
    round_mode: str = "rint",
) -> tuple[Tensor, Tensor | None]:
    y = torch.nn.functional.gelu(wide(input), approximate=approximate)
    target = plain_type(dst_type)
    if quant_mode == "static":
        if input_scale is not None:
            y = y * input_scale.float()
        return to_integers(y if input_offset is None else y + input_offset.float(), target), None
    return npu_dynamic_quant(y, smooth_scales=input_scale, dst_type=dst_type)
