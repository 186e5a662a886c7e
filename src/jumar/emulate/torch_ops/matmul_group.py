"""Matrix products fused with the exchange of their operands or results between ranks (MC2).

Ascend/op-plugin docs/zh/custom_APIs/torch_npu/torch_npu-npu_mm_all_reduce_base.md and its relatives. Each rank rounds
its product to the type of the result before the exchange, as the device does.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from jumar.emulate.torch_ops.formula import data_type, wide
from jumar.emulate.torch_ops.group import Group, joined
from jumar.emulate.torch_ops.integers import product, unpack_scale
from jumar.emulate.torch_ops.quant_matmul import dequantised
from jumar.emulate.torch_ops.registry import not_emulated, operator

_SIZES = (2, 4, 8, 16, 32)
_EXPERT_SIZES = (2, 4, 8, 16)


@operator()
def npu_mm_all_reduce_base(
    x1: Tensor,
    x2: Tensor,
    hcom: str,
    *,
    reduce_op: str = "sum",
    bias: Tensor | None = None,
    antiquant_scale: Tensor | None = None,
    antiquant_offset: Tensor | None = None,
    x3: Tensor | None = None,
    dequant_scale: Tensor | None = None,
    pertoken_scale: Tensor | None = None,
    comm_quant_scale_1: Tensor | None = None,
    comm_quant_scale_2: Tensor | None = None,
    antiquant_group_size: int = 0,
    comm_turn: int = 0,
    group_sizes: list[int] | None = None,
    y_dtype: int | None = None,
    **others: Any,
) -> Tensor:
    name = "npu_mm_all_reduce_base"
    with joined(hcom, name) as group:
        _refuse_types(name, x1, x2, any(group_sizes or []), others)
        _check_all_reduce(x1, x2, antiquant_scale, antiquant_offset, x3, dequant_scale, pertoken_scale)
        kind = _result_type(x1, dequant_scale)
        if x2.dtype == torch.int8 and x1.dtype != torch.int8 and antiquant_scale is not None:
            y = wide(x1) @ dequantised(x2, antiquant_scale, antiquant_offset, antiquant_group_size)
            y = y if bias is None else y + wide(bias)
        else:
            y = _product(x1, x2, bias, dequant_scale, pertoken_scale)
        y = (y if x3 is None else y + wide(x3)).to(kind)
        if comm_quant_scale_1 is None or comm_quant_scale_2 is None:
            return group.all_reduce(y, reduce_op)
        return _reduced_in_eight_bits(group, y, wide(comm_quant_scale_1), wide(comm_quant_scale_2))


def _result_type(x1: Tensor, scale: Tensor | None) -> torch.dtype:
    if scale is not None and scale.dtype == torch.bfloat16:
        return torch.bfloat16
    return torch.float16 if x1.dtype == torch.int8 else x1.dtype


def _reduced_in_eight_bits(group: Group, y: Tensor, scale_1: Tensor, scale_2: Tensor) -> Tensor:
    """Products travel as eight bits by the first scale, their sums by the second."""
    parts = [_eight_bits(part, scale_1) for part in group.all_gather(y)]
    total = torch.stack([part * scale_1 for part in parts]).sum(0)
    return (_eight_bits(total, scale_2) * scale_2).to(y.dtype)


def _eight_bits(y: Tensor, scale: Tensor) -> Tensor:
    return (wide(y) / scale).round().clamp(-128, 127)


def _check_all_reduce(
    x1: Tensor,
    x2: Tensor,
    antiquant_scale: Tensor | None,
    antiquant_offset: Tensor | None,
    x3: Tensor | None,
    dequant_scale: Tensor | None,
    pertoken_scale: Tensor | None,
) -> None:
    """In torch_npu's words (MatmulAllReduceBaseKernelNpuOpApi.cpp)."""
    if x2.dim() != 2:
        raise RuntimeError(f"x2 needs to be 2D, but got: {x2.dim()}D")
    if x1.shape[-1] != x2.shape[0]:
        raise RuntimeError(f"K of x1 and x2 should be same, but they are x1_k: {x1.shape[-1]}, x2_k: {x2.shape[0]}")
    whole = [not x.dtype.is_floating_point for x in (x1, x2)]
    extra = antiquant_scale is not None or antiquant_offset is not None
    if all(whole) and extra:
        raise RuntimeError(
            "when both dtype of x1 and dtype of x2 are equal to int8, antiquantScale, antiquantOffset should both be "
            "null"
        )
    if not whole[0] and whole[1] and dequant_scale is not None:
        raise RuntimeError("when only dtype of x2 is equal to int8, dequantScale should be null")
    if not any(whole) and (extra or dequant_scale is not None):
        raise RuntimeError(
            "when neither dtype of x1 or dtype of x2 is equal to int8, antiquantScale, antiquantOffset and "
            "dequantScale should all be null"
        )
    if x3 is not None and x3.shape != (*x1.shape[:-1], x2.shape[1]):
        raise RuntimeError(f"x3 with shape {list(x3.shape)} doesn't match the output shape")
    if pertoken_scale is not None and dequant_scale is None:
        raise RuntimeError("when has pertoken_scale, dequantScale shoulden't be null")


def _refuse_types(name: str, x1: Tensor, x2: Tensor, groups: bool, given: dict[str, Any]) -> None:
    """Eight- and four-bit floats belong to the next chip."""
    kinds = [key for key, value in given.items() if key.endswith("_dtype") and value is not None]
    if kinds:
        raise not_emulated(name, f"with `{kinds[0]}`")
    if groups or any(x.dtype.is_floating_point and x.element_size() == 1 for x in (x1, x2)):
        raise not_emulated(name, "with eight-bit floats or `group_sizes`")


def _product(
    x1: Tensor, x2: Tensor, bias: Tensor | None, scale: Tensor | None = None, token_scale: Tensor | None = None
) -> Tensor:
    """x1 @ x2 in float32, quantised operands scaled per channel and per token."""
    if x1.dtype.is_floating_point:
        y = wide(x1) @ wide(x2)
        return y if bias is None else y + wide(bias)
    y = product(x1, x2)
    if bias is not None and bias.dtype == torch.int32:
        y = y + bias
    y = y.float()
    if scale is not None:
        y = y * unpack_scale(scale)
    if token_scale is not None:
        y = y * token_scale.float().reshape(*y.shape[:-1], 1)
    return y if bias is None or bias.dtype == torch.int32 else y + bias.float()


def _check_product(name: str, x1: Tensor, x2: Tensor, world_size: int, sizes: tuple[int, ...] = _SIZES) -> None:
    if world_size not in sizes:
        raise RuntimeError(f"world_size should be in {list(sizes)}, but the actual value is {world_size}.")
    if x1.dim() != 2 or x2.dim() != 2:
        raise RuntimeError(
            f"Both inputs of mm are required to be 2D, but the actual inputs are {x1.dim()}D and {x2.dim()}D."
        )
    if x1.shape[1] != x2.shape[0]:
        raise RuntimeError(
            "The K-axis in the two inputs of Matmul must be equal, but in reality, the K-axis of x1 is "
            f"{x1.shape[1]} and the K-axis of x2 is {x2.shape[0]}."
        )


def _scaled_type(x1: Tensor, scale: Tensor | None, wanted: Any) -> torch.dtype:
    if scale is None:
        return x1.dtype
    return torch.float16 if scale.dtype == torch.int64 else data_type(wanted, torch.bfloat16)


def _check_mode(scale: Tensor | None, mode: str | None) -> None:
    if scale is not None and (mode or "ai_cpu") == "ai_cpu":
        raise RuntimeError("When comm_mode is ai_cpu, quantization not supported.")


@operator()
def npu_all_gather_base_mm(
    input: Tensor,
    x2: Tensor,
    hcom: str,
    world_size: int,
    *,
    bias: Tensor | None = None,
    x1_scale: Tensor | None = None,
    x2_scale: Tensor | None = None,
    gather_index: int = 0,
    gather_output: bool = True,
    comm_turn: int = 0,
    output_dtype: torch.dtype | None = None,
    comm_mode: str | None = None,
) -> tuple[Tensor, Tensor]:
    name = "npu_all_gather_base_mm"
    _check_product(name, input, x2, world_size)
    _check_mode(x2_scale, comm_mode)
    kind = _scaled_type(input, x2_scale, output_dtype)
    with joined(hcom, name, world_size) as group:
        return _gathered_product(group, input, x2, bias, (x1_scale, x2_scale), gather_index, gather_output, kind)


def _gathered_product(
    group: Group,
    x1: Tensor,
    x2: Tensor,
    bias: Tensor | None,
    scales: tuple[Tensor | None, Tensor | None],
    index: int,
    gather_output: bool,
    kind: torch.dtype,
) -> tuple[Tensor, Tensor]:
    gathered = torch.cat(group.all_gather(x1 if index == 0 else x2))
    left, right = (gathered, x2) if index == 0 else (x1, gathered)
    per_token = scales[0]
    if per_token is not None and index == 0 and per_token.numel() == x1.shape[0]:
        per_token = torch.cat(group.all_gather(per_token))
    y = _product(left, right, bias, scales[1], per_token).to(kind)
    return y, gathered if gather_output else torch.empty(0, dtype=x1.dtype)


@operator()
def npu_all_gather_quant_mm(
    input: Tensor,
    x2: Tensor,
    hcom: str,
    world_size: int,
    *,
    bias: Tensor | None = None,
    x1_scale: Tensor | None = None,
    x2_scale: Tensor | None = None,
    quant_scale: Tensor | None = None,
    block_size: int = 0,
    gather_index: int = 0,
    gather_output: bool = True,
    comm_turn: int = 0,
    group_sizes: list[int] | None = None,
    amax_output: bool = False,
    y_dtype: int | None = None,
    **others: Any,
) -> tuple[Tensor, Tensor, Tensor]:
    name = "npu_all_gather_quant_mm"
    with joined(hcom, name, world_size) as group:
        _refuse_types(name, input, x2, any(group_sizes or []), others)
        if quant_scale is not None or amax_output:
            raise not_emulated(name, "with `quant_scale` or `amax_output`")
        kind = _given_type(input, y_dtype, "y_dtype should be provided when input dtype is not bf16 or fp16")
        scales = (x1_scale, x2_scale)
        found = _gathered_product(group, input, x2, bias, scales, gather_index, gather_output, kind)
        return (*found, torch.empty(0))


def _given_type(x1: Tensor, wanted: int | None, missing: str) -> torch.dtype:
    if x1.dtype in (torch.float16, torch.bfloat16):
        if wanted is not None and data_type(wanted, x1.dtype) != x1.dtype:
            raise RuntimeError(
                "When input is float16 or bfloat16, output should be the same as input dtype. Expected output "
                f"dtype:{x1.dtype}, but got:{data_type(wanted, x1.dtype)}"
            )
        return x1.dtype
    if wanted is None:
        raise RuntimeError(missing)
    return data_type(wanted, x1.dtype)


@operator()
def npu_mm_reduce_scatter_base(
    input: Tensor,
    x2: Tensor,
    hcom: str,
    world_size: int,
    *,
    reduce_op: str = "sum",
    bias: Tensor | None = None,
    x1_scale: Tensor | None = None,
    x2_scale: Tensor | None = None,
    comm_turn: int = 0,
    output_dtype: torch.dtype | None = None,
    comm_mode: str | None = None,
) -> Tensor:
    name = "npu_mm_reduce_scatter_base"
    _check_product(name, input, x2, world_size)
    _check_rows(input, world_size)
    _check_mode(x2_scale, comm_mode)
    with joined(hcom, name, world_size) as group:
        y = _product(input, x2, bias, x2_scale, x1_scale).to(_scaled_type(input, x2_scale, output_dtype))
        return group.reduce_scatter(y, reduce_op)


def _check_rows(x1: Tensor, world_size: int) -> None:
    if x1.shape[0] % world_size:
        raise RuntimeError("The M-axis in input of Matmul should be be divisible by world_size.")


@operator()
def npu_quant_mm_reduce_scatter(
    input: Tensor,
    x2: Tensor,
    hcom: str,
    world_size: int,
    *,
    reduce_op: str = "sum",
    bias: Tensor | None = None,
    x1_scale: Tensor | None = None,
    x2_scale: Tensor | None = None,
    quant_scale: Tensor | None = None,
    block_size: int = 0,
    comm_turn: int = 0,
    group_sizes: list[int] | None = None,
    amax_output: bool = False,
    y_dtype: int | None = None,
    **others: Any,
) -> tuple[Tensor, Tensor]:
    name = "npu_quant_mm_reduce_scatter"
    _check_product(name, input, x2, world_size, (*_SIZES, 64))
    _check_rows(input, world_size)
    with joined(hcom, name, world_size) as group:
        _refuse_types(name, input, x2, any(group_sizes or []), others)
        if quant_scale is not None or amax_output:
            raise not_emulated(name, "with `quant_scale` or `amax_output`")
        kind = _given_type(input, y_dtype, "input dtype is not bf16 or fp16, but no input y_dtype")
        y = _product(input, x2, bias, x2_scale, x1_scale).to(kind)
        return group.reduce_scatter(y, reduce_op), torch.empty(0)


@operator()
def npu_matmul_all_to_all(
    x1: Tensor,
    x2: Tensor,
    hcom: str,
    world_size: int,
    bias: Tensor | None = None,
    all2all_axes: list[int] | None = None,
    comm_mode: str | None = None,
) -> Tensor:
    _check_product("npu_matmul_all_to_all", x1, x2, world_size, _EXPERT_SIZES)
    if x2.shape[1] % world_size:
        raise RuntimeError("The x2 second-axis should be divisible by world_size.")
    with joined(hcom, "npu_matmul_all_to_all", world_size) as group:
        y = _product(x1, x2, bias).to(x1.dtype)
        return torch.cat(group.all_to_all([part.contiguous() for part in y.chunk(world_size, 1)]))


@operator()
def npu_all_to_all_matmul(
    x1: Tensor,
    x2: Tensor,
    hcom: str,
    world_size: int,
    bias: Tensor | None = None,
    all2all_axes: list[int] | None = None,
    all2all_out_flag: bool = True,
    comm_mode: str | None = None,
) -> tuple[Tensor, Tensor]:
    if world_size not in _EXPERT_SIZES:
        raise RuntimeError(f"The world_size should be in {list(_EXPERT_SIZES)}, but the actual value is {world_size}.")
    if x1.shape[0] % world_size:
        raise RuntimeError("The x1 first-axis should be divisible by world_size.")
    with joined(hcom, "npu_all_to_all_matmul", world_size) as group:
        moved = torch.cat(group.all_to_all(x1.chunk(world_size)), 1)
        y = _product(moved, x2, bias).to(x1.dtype)
        return y, moved if all2all_out_flag else torch.empty(0, dtype=x1.dtype)
