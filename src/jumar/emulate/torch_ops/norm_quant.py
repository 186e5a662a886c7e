"""Normalisation followed by quantisation, and activation followed by quantisation, in one operator."""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.formulas.activation import clipped_swiglu, swiglu
from jumar.emulate.formulas.norm import rms_norm
from jumar.emulate.formulas.quantize import by_rows
from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.grouped_matmul import group_ends
from jumar.emulate.torch_ops.integers import largest, plain_type, to_integers
from jumar.emulate.torch_ops.registry import operator


@operator()
def npu_rms_norm_quant(
    x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    scale: Tensor,
    offset: Tensor,
    epsilon: float = 1e-6,
    *,
    dst_dtype: int | None = None,
) -> Tensor:
    y = rms_norm(wide(x), wide(gamma), epsilon)[0] + wide(beta)
    return to_integers(y * wide(scale) + offset.float(), plain_type(dst_dtype))


@operator()
def npu_rms_norm_quant_v2(
    x: Tensor,
    gamma: Tensor,
    scale: Tensor,
    *,
    offset: Tensor | None = None,
    beta: Tensor | None = None,
    epsilon: float = 1e-6,
    div_mode: bool = True,
    dst_dtype: int | None = None,
) -> tuple[Tensor, Tensor]:
    y = rms_norm(wide(x), wide(gamma), epsilon)[0]
    y = y if beta is None else y + wide(beta)
    z = y / wide(scale) if div_mode else y * wide(scale)
    z = z if offset is None else z + offset.float()
    return to_integers(z, plain_type(dst_dtype)), y.to(x.dtype)


@operator()
def npu_add_rms_norm_quant(
    x1: Tensor,
    x2: Tensor,
    gamma: Tensor,
    scales1: Tensor,
    zero_points1: Tensor | None,
    beta: Tensor | None = None,
    scales2: Tensor | None = None,
    zero_points2: Tensor | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-6,
    div_mode: bool = True,
    dst_type: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    x = wide(x1) + wide(x2)
    y = rms_norm(x, wide(gamma), epsilon)[0]
    y = y if beta is None else y + wide(beta)
    target = plain_type(dst_type)

    def quantised(scale: Tensor | None, zero: Tensor | None) -> Tensor:
        if scale is None:
            return torch.empty(0, dtype=torch.int8)
        z = y / wide(scale) if div_mode else y * wide(scale)
        return to_integers(z if zero is None else z + zero.float(), target)

    return quantised(scales1, zero_points1), quantised(scales2, zero_points2), x.to(x1.dtype)


@operator()
def npu_add_rms_norm_dynamic_quant(
    x1: Tensor,
    x2: Tensor,
    gamma: Tensor,
    *,
    smooth_scale1: Tensor | None = None,
    smooth_scale2: Tensor | None = None,
    beta: Tensor | None = None,
    epsilon: float = 1e-6,
    output_mask: list[bool] | None = None,
    y_dtype: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    x = wide(x1) + wide(x2)
    y = rms_norm(x, wide(gamma), epsilon)[0]
    y = y if beta is None else y + wide(beta)
    target = plain_type(y_dtype)
    wanted = output_mask or [True, smooth_scale1 is not None and smooth_scale2 is not None]
    results = []
    for scale, want in zip((smooth_scale1, smooth_scale2), wanted):
        if not want:
            results.append((torch.zeros(1, dtype=torch.int8), torch.zeros(1)))
            continue
        results.append(dynamic(y if scale is None else y * wide(scale), target))
    return results[0][0], results[1][0], x.to(x1.dtype), results[0][1], results[1][1]


def dynamic(y: Tensor, target: torch.dtype) -> tuple[Tensor, Tensor]:
    """Each row divided by its scale, its largest magnitude over the largest number of the type."""
    steps, scale = by_rows(y, top=largest(target))
    return to_integers(steps, target), scale.squeeze(-1).float()


@operator()
def npu_swiglu_quant(
    x: Tensor,
    *,
    smooth_scales: Tensor | None = None,
    offsets: Tensor | None = None,
    group_index: Tensor | None = None,
    activate_left: bool = False,
    quant_mode: int = 0,
    group_list_type: int = 0,
    dst_type: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:
    y = swiglu(wide(x), gate_first=activate_left)
    rows = y.reshape(-1, y.shape[-1])
    if group_index is not None and smooth_scales is not None:
        start = 0
        for i, end in enumerate(group_ends(group_index, group_list_type)):
            rows[start:end] *= wide(smooth_scales)[i]
            if offsets is not None and quant_mode == 0:
                rows[start:end] += wide(offsets)[i]
            start = end
    elif smooth_scales is not None:
        rows = rows * wide(smooth_scales)
        if offsets is not None and quant_mode == 0:
            rows = rows + wide(offsets)
    target = plain_type(dst_type)
    if quant_mode == 0:
        return to_integers(rows.view(y.shape), target), torch.zeros(y.shape[:-1])
    quantised, scale = dynamic(rows.view(y.shape), target)
    return quantised, 1 / scale  # this operator gives the factor, its relatives the divisor


@operator()
def npu_dequant_swiglu_quant(
    x: Tensor,
    *,
    weight_scale: Tensor | None = None,
    activation_scale: Tensor | None = None,
    bias: Tensor | None = None,
    quant_scale: Tensor | None = None,
    quant_offset: Tensor | None = None,
    group_index: Tensor | None = None,
    activate_left: bool = False,
    quant_mode: int = 0,
    dst_type: int | None = None,
    round_mode: int | None = None,
    activate_dim: int | None = None,
    swiglu_mode: int = 0,
    clamp_limit: float = 7.0,
    glu_alpha: float = 1.702,
    glu_bias: float = 1.0,
) -> tuple[Tensor, Tensor]:
    rows = x.reshape(-1, x.shape[-1]).float()
    counts = [rows.shape[0]] if group_index is None else [int(n) for n in group_index.tolist()]
    out, scales, start = [], [], 0
    target = plain_type(dst_type)
    for i, count in enumerate(counts):
        part = rows[start : start + count]
        if bias is not None and bias.dtype == torch.int32:
            part = part + _own(bias, i, 2).float()
        if weight_scale is not None:
            part = part * _own(weight_scale, i, 2).float()
        if activation_scale is not None:
            part = part * activation_scale.float().reshape(-1, 1)[start : start + count]
        if bias is not None and bias.dtype != torch.int32:
            part = part + _own(bias, i, 2).float()
        y = _gated(part, activate_left, swiglu_mode, clamp_limit, glu_alpha, glu_bias)
        if quant_mode == 0:
            y = y if quant_scale is None else y / _own(quant_scale, i, 2).float()
            y = y if quant_offset is None else y + _own(quant_offset, i, 2).float()
            out.append(to_integers(y, target))
        else:
            y = y if quant_scale is None else y * _own(quant_scale, i, 2).float()
            quantised, scale = dynamic(y, target)
            out.append(quantised)
            scales.append(scale)
        start += count
    missing = rows.shape[0] - start
    result = torch.cat(out)
    if missing > 0:
        result = torch.cat([result, result.new_zeros(missing, result.shape[1])])
        scales.append(torch.zeros(missing))
    shape = (*x.shape[:-1], result.shape[-1])
    return result.view(shape), torch.cat(scales).view(x.shape[:-1]) if scales else torch.zeros(x.shape[:-1])


def _own(t: Tensor, i: int, dims: int) -> Tensor:
    return t[i] if t.dim() >= dims else t


def _gated(x: Tensor, activate_left: bool, mode: int, limit: float, alpha: float, bias: float) -> Tensor:
    if mode == 1:
        return clipped_swiglu(x[..., 0::2], x[..., 1::2], alpha=alpha, limit=limit, bias=bias)
    return swiglu(x, gate_first=activate_left)
