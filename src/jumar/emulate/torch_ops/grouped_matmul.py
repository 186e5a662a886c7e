"""Grouped matrix products: each group of rows (or of inner columns) with a weight of its own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from jumar.core.compat import zip
from jumar.emulate.formulas.activation import inside
from jumar.emulate.torch_ops.formula import data_type, wide
from jumar.emulate.torch_ops.integers import plain_type, product, to_integers, unpack_int4, unpack_scale
from jumar.emulate.torch_ops.quant_matmul import dequantised
from jumar.emulate.torch_ops.registry import not_emulated, operator

_Tensors = list[Tensor]


@operator("npu_grouped_matmul.List")
def npu_grouped_matmul_list(x: _Tensors, weight: _Tensors, *, group_type: int | None = None, **others: Any) -> _Tensors:
    return npu_grouped_matmul(x, weight, group_type=-1 if group_type is None else group_type, **others)


@operator()
def npu_grouped_matmul(
    x: _Tensors,
    weight: _Tensors,
    *,
    bias: _Tensors | None = None,
    scale: _Tensors | None = None,
    offset: _Tensors | None = None,
    antiquant_scale: _Tensors | None = None,
    antiquant_offset: _Tensors | None = None,
    per_token_scale: _Tensors | None = None,
    group_list: Tensor | list[int] | None = None,
    activation_input: _Tensors | None = None,
    activation_quant_scale: _Tensors | None = None,
    activation_quant_offset: _Tensors | None = None,
    split_item: int | None = 0,
    group_type: int | None = None,
    group_list_type: int | None = 0,
    act_type: int | None = 0,
    tuning_config: list[int] | None = None,
    output_dtype: int | torch.dtype | None = None,
    x_dtype: int | None = None,
    weight_dtype: int | None = None,
    scale_dtype: int | None = None,
    per_token_scale_dtype: int | None = None,
) -> _Tensors:
    if any((x_dtype, weight_dtype, scale_dtype, per_token_scale_dtype)):
        raise not_emulated("npu_grouped_matmul", "with a given data type of an operand")
    if group_type is None:
        raise RuntimeError("Requires manual passing group_type, current is None.")
    if group_type not in (-1, 0, 2):
        raise RuntimeError(
            f"Use Tensor input with current cann version, The group type must be -1, 0 or 2, but now is [{group_type}]"
        )
    weights = _per_expert(weight, 3)
    ends = group_ends(group_list, group_list_type)
    parts = _inputs(x, ends, len(weights), group_type)
    if group_type == 2 and len(weights) < len(parts):
        weights = _rows(weights[0], ends)
    token_scales = None
    if per_token_scale:
        token_scales = per_token_scale if len(per_token_scale) > 1 else _rows(per_token_scale[0], ends)
    results = []
    for i, (part, own) in enumerate(zip(parts, weights)):
        y = _single(
            part,
            own,
            _at(bias, i, 2),
            _at(scale, i, 2),
            _at(antiquant_scale, i, 2),
            _at(antiquant_offset, i, 2),
            None if token_scales is None else token_scales[i],
        )
        results.append(_activated(y, act_type))
    target = _result_type(x[0], scale, output_dtype)
    results = [to_integers(y, target) for y in results]
    return _outputs(results, x, split_item or 0, group_type)


def group_ends(groups: Tensor | list[int] | None, kind: int | None) -> list[int]:
    """Running ends of the groups: given so (0), as counts (1), or as pairs of index and count (2)."""
    if groups is None:
        return []
    values = groups.tolist() if isinstance(groups, Tensor) else list(groups)
    if kind == 2:
        values = [count for _, count in values]
    if kind in (1, 2):
        total = 0
        values = [total := total + int(n) for n in values]
    return [int(n) for n in values]


def _per_expert(tensors: _Tensors, dims: int) -> _Tensors:
    return list(tensors[0].unbind(0)) if len(tensors) == 1 and tensors[0].dim() == dims else list(tensors)


def _at(tensors: _Tensors | None, i: int, dims: int) -> Tensor | None:
    if not tensors:
        return None
    if len(tensors) > 1:
        return tensors[i]
    return tensors[0][i] if tensors[0].dim() >= dims else tensors[0]


def _rows(x: Tensor, ends: list[int]) -> _Tensors:
    starts = [0, *ends[:-1]]
    return [x[start : max(start, end)] for start, end in zip(starts, ends, strict=True)]


def _inputs(x: _Tensors, ends: list[int], experts: int, group_type: int | None) -> _Tensors:
    if len(x) > 1 or not ends:
        return list(x)
    if group_type == 2:
        columns = x[0].transpose(-1, -2)
        return [part.transpose(-1, -2) for part in _rows(columns, ends)]
    return _rows(x[0], ends)


def _single(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    scale: Tensor | None,
    antiquant_scale: Tensor | None,
    antiquant_offset: Tensor | None,
    token_scale: Tensor | None,
) -> Tensor:
    if antiquant_scale is not None and antiquant_scale.numel():
        inner = (unpack_int4(weight) if weight.dtype == torch.int32 else weight).shape[-2]
        grouped = antiquant_scale.dim() == 2 and antiquant_scale.shape[0] > 1
        group = inner // antiquant_scale.shape[0] if grouped else 0
        y = wide(x) @ dequantised(weight, antiquant_scale, antiquant_offset, group)
        return y if bias is None else y + wide(bias)
    if x.dtype not in (torch.int8, torch.int32):
        y = wide(x) @ wide(weight)
        return y if bias is None else y + wide(bias)
    y = product(x, weight)
    if bias is not None and bias.dtype == torch.int32:
        y = y + bias
    if scale is not None:
        y = y.float() * unpack_scale(scale)
    if token_scale is not None:
        y = y * token_scale.float().reshape(-1, 1)
    return y if bias is None or bias.dtype == torch.int32 else y + wide(bias)


_ACTIVATIONS = {1: "relu", 2: "gelu", 4: "fastgelu", 5: "silu"}


def _activated(y: Tensor, kind: int | None) -> Tensor:
    if not kind:
        return y
    if kind in _ACTIVATIONS:
        return inside(y, _ACTIVATIONS[kind])
    raise RuntimeError(f"act_type is not known: {kind}")


def _result_type(x: Tensor, scale: _Tensors | None, wanted: int | torch.dtype | None) -> torch.dtype:
    if wanted is not None:
        return plain_type(wanted)
    if x.dtype == torch.int8:
        return torch.int8 if scale else torch.int32
    return x.dtype


def _outputs(results: _Tensors, x: _Tensors, split_item: int, group_type: int | None) -> _Tensors:
    if split_item not in (2, 3):
        return results
    if group_type == 2:
        return [torch.stack(results)]
    joined = torch.cat(results)
    missing = (x[0].shape[0] - joined.shape[0]) if len(x) == 1 else 0
    if missing > 0:
        joined = torch.cat([joined, joined.new_zeros(missing, joined.shape[1])])
    return [joined]


@operator()
def npu_grouped_matmul_add(
    input: Tensor,
    x: Tensor,
    weight: Tensor,
    group_list: Tensor,
    *,
    transpose_x: bool = True,
    transpose_weight: bool = False,
    group_type: int = 2,
    group_list_type: int | None = 0,
) -> Tensor:
    """Adds x[group]^T @ weight[group] to the part of each group: the gradient of a grouped weight."""
    ends = group_ends(group_list, group_list_type)
    products = [wide(a).transpose(0, 1) @ wide(b) for a, b in zip(_rows(x, ends), _rows(weight, ends), strict=True)]
    return (input + torch.stack(products).reshape(input.shape)).to(input.dtype)


@operator()
def npu_quant_grouped_matmul_dequant(
    x: Tensor,
    quantized_weight: Tensor,
    weight_scale: Tensor,
    group_list: Tensor,
    *,
    bias: Tensor | None = None,
    x_scale: Tensor | None = None,
    x_offset: Tensor | None = None,
    smooth_scale: Tensor | None = None,
    quant_mode: str | None = "pertoken",
) -> Tensor:
    from jumar.emulate.torch_ops.quant_matmul import npu_quant_matmul_dequant

    ends = group_ends(group_list, 0)
    scales = None if x_scale is None else _rows(x_scale, ends) if quant_mode == "pertoken" else list(x_scale)
    parts = [
        npu_quant_matmul_dequant(
            part,
            quantized_weight[i],
            weight_scale[i],
            bias=None if bias is None else bias[i],
            x_scale=None if scales is None else scales[i],
            smooth_scale=None if smooth_scale is None else smooth_scale[i],
            quant_mode=quant_mode,
        )
        for i, part in enumerate(_rows(x, ends))
    ]
    return torch.cat(parts)


@operator()
def npu_grouped_matmul_finalize_routing(
    x: Tensor,
    w: Tensor,
    group_list: Tensor,
    *,
    scale: Tensor | None = None,
    bias: Tensor | None = None,
    offset: Tensor | None = None,
    pertoken_scale: Tensor | None = None,
    shared_input: Tensor | None = None,
    logit: Tensor | None = None,
    row_index: Tensor | None = None,
    dtype: torch.dtype | None = None,
    shared_input_weight: float | None = 1.0,
    shared_input_offset: int | None = 0,
    output_bs: int | None = 0,
    group_list_type: int | None = 1,
    tuning_config: list[int] | None = None,
    x_dtype: int | None = None,
    w_dtype: int | None = None,
    scale_dtype: int | None = None,
    pertoken_scale_dtype: int | None = None,
) -> Tensor:
    """A grouped product whose rows are weighted and added to the tokens they came from."""
    ends = group_ends(group_list, group_list_type)
    token_scales = None if pertoken_scale is None else _rows(pertoken_scale, ends)
    parts = []
    for i, part in enumerate(_rows(x, ends)):
        own_scale = None if scale is None else scale[i] if scale.shape[0] == len(ends) else scale
        y = _single(part, w[i], None, own_scale, None, None, None if token_scales is None else token_scales[i])
        parts.append(y if bias is None else y + wide(bias[i]))
    rows = torch.cat(parts).float()
    if logit is not None:
        rows = rows * logit.float()[: rows.shape[0]].reshape(-1, 1)
    count = output_bs or rows.shape[0]
    out = torch.zeros(count, rows.shape[1])
    if shared_input is not None:
        start = shared_input_offset or 0
        out[start : start + shared_input.shape[0]] += shared_input.float() * (shared_input_weight or 0.0)
    index = torch.arange(rows.shape[0]) if row_index is None else row_index.long()[: rows.shape[0]]
    out.index_add_(0, index, rows)
    return out.to(data_type(dtype, torch.float32))
