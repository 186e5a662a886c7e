"""Grouped products with a gate behind them and a result in eight bits: eight- and four-bit operands."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.grouped_matmul import group_ends
from jumar.emulate.torch_ops.integers import unpack_int4, unpack_scale
from jumar.emulate.torch_ops.norm_quant import dynamic
from jumar.emulate.torch_ops.registry import not_emulated, operator


@operator()
def npu_grouped_matmul_swiglu_quant(
    x: Tensor,
    weight: Tensor,
    group_list: Tensor,
    weight_scale: Tensor,
    x_scale: Tensor,
    *,
    bias: Tensor | None = None,
    offset: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    if weight.dtype not in (torch.int8, torch.int32):
        raise not_emulated("npu_grouped_matmul_swiglu_quant", f"with a weight of {weight.dtype}")
    out, scales = _gated_groups(x, weight, (weight_scale, x_scale), group_ends(group_list, 0), bias, None)
    return out, scales, torch.zeros(())


def _gated_groups(
    x: Tensor,
    weight: Tensor,
    factors: tuple[Tensor, Tensor],
    ends: list[int],
    assist: Tensor | None,
    smooth: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """The product of each group with its expert, gated, in eight bits per token."""
    if weight.dim() == 5:  # the tiles of a private format, seen as such: 16 rows of 32 bytes
        weight = weight.permute(0, 2, 3, 1, 4).flatten(3).flatten(1, 2)
    out = torch.zeros(x.shape[0], factors[0].shape[-1] // 2, dtype=torch.int8)
    scales = torch.zeros(x.shape[0])
    start = 0
    for i, end in enumerate(ends):
        if end > start:
            y = _in_groups_of_rows(x[start:end], weight[i], unpack_scale(factors[0][i]))
            y = y if assist is None else y + assist[i].float()
            gate, up = (y * factors[1].float()[start:end].reshape(-1, 1)).chunk(2, dim=-1)
            gated = F.silu(gate) * up
            gated = gated if smooth is None else gated * wide(smooth[i])
            out[start:end], scales[start:end] = dynamic(gated, torch.int8)
        start = max(start, end)
    return out, scales


def _in_groups_of_rows(x: Tensor, weight: Tensor, scale: Tensor) -> Tensor:
    """x @ weight, with a row of scales per group of inner elements.

    Against four-bit weights the device takes eight bits apart into two nibbles, the lower one less 8; what the caller
    adds makes up for that 8.
    """
    if x.dtype == torch.int8 and weight.dtype == torch.int32:
        left = x.double() - 8
    else:
        left = (unpack_int4(x) if x.dtype == torch.int32 else x).double()
    right = (unpack_int4(weight) if weight.dtype == torch.int32 else weight).double()
    rows = scale.reshape(-1, scale.shape[-1])
    parts = zip(left.chunk(len(rows), -1), right.chunk(len(rows), 0), rows)
    return torch.stack([(a @ b).float() * factor for a, b, factor in parts]).sum(0)


@operator()
def npu_grouped_matmul_swiglu_quant_v2(
    x: Tensor,
    weight: list[Tensor],
    weight_scale: list[Tensor],
    x_scale: Tensor,
    group_list: Tensor,
    *,
    smooth_scale: Tensor | None = None,
    weight_assist_matrix: list[Tensor] | None = None,
    bias: Tensor | None = None,
    dequant_mode: int | None = 0,
    dequant_dtype: int | None = 6,
    quant_mode: int | None = 0,
    quant_dtype: int | None = 1,
    group_list_type: int | None = 0,
    tuning_config: list[int] | None = None,
    x_dtype: int | None = None,
    weight_dtype: int | None = None,
    weight_scale_dtype: int | None = None,
    x_scale_dtype: int | None = None,
) -> tuple[Tensor, Tensor]:
    if dequant_mode not in (0, 1, None) or quant_mode or bias is not None:
        raise not_emulated("npu_grouped_matmul_swiglu_quant_v2", "with `bias`, `quant_mode` or another `dequant_mode`")
    if any(t.dtype not in (torch.int8, torch.int32) for t in (x, *weight)):
        raise not_emulated("npu_grouped_matmul_swiglu_quant_v2", f"with operands of {x.dtype} and {weight[0].dtype}")
    lists = (weight, weight_scale, weight_assist_matrix or [])
    whole = [t[0] if len(t) == 1 else torch.stack(list(t)) if t else None for t in lists]
    assert whole[0] is not None and whole[1] is not None
    ends = group_ends(group_list, group_list_type)
    return _gated_groups(x, whole[0], (whole[1], x_scale), ends, whole[2], smooth_scale)
