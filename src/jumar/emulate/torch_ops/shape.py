"""Rearrangement: transpose, reshape, slice, pad, strides, one-hot, sort, extremes, data type casts."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from jumar.core.compat import zip
from jumar.emulate.torch_ops.formula import data_type
from jumar.emulate.torch_ops.registry import operator


@operator()
def npu_transpose(input: Tensor, perm: list[int], require_contiguous: bool = True) -> Tensor:
    return input.permute(perm).contiguous()


@operator()
def npu_broadcast(input: Tensor, size: list[int]) -> Tensor:
    return input.expand(size).contiguous()


@operator()
def npu_reshape(input: Tensor, shape: list[int], can_refresh: bool = False) -> Tensor:
    return input.reshape(shape).clone()


@operator()
def npu_confusion_transpose(input: Tensor, perm: list[int], shape: list[int], transpose_first: bool) -> Tensor:
    """Transpose and reshape in one kernel, in either order."""
    if transpose_first:
        return input.permute(perm).reshape(shape).contiguous()
    return input.reshape(shape).permute(perm).contiguous()


@operator()
def npu_confusion_transpose_backward(grad: Tensor, perm: list[int], shape: list[int], transpose_first: bool) -> Tensor:
    # torch_npu passes the order of the way back, and the shape of the input.
    back = [perm.index(i) for i in range(len(perm))]
    if transpose_first:
        return grad.permute(back).reshape(shape).contiguous()
    return grad.reshape([shape[i] for i in perm]).permute(back).contiguous()


@operator()
def npu_slice(input: Tensor, offsets: list[int], size: list[int]) -> Tensor:
    for dim, (start, length) in enumerate(zip(offsets, size, strict=True)):
        input = input.narrow(dim, start, input.shape[dim] - start if length < 0 else length)
    return input.contiguous()


@operator()
def npu_indexing(
    input: Tensor,
    begin: list[int],
    end: list[int],
    strides: list[int],
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Tensor:
    """A strided slice with the masks of TensorFlow's operator: a set bit leaves that bound out."""
    index: list[Any] = []
    for i, (first, last, step) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << i
        if ellipsis_mask & bit:
            index.append(...)
        elif new_axis_mask & bit:
            index.append(None)
        elif shrink_axis_mask & bit:
            index.append(first)
        else:
            index.append(slice(None if begin_mask & bit else first, None if end_mask & bit else last, step))
    return input[tuple(index)].contiguous()


@operator()
def npu_pad(input: Tensor, paddings: list[int]) -> Tensor:
    # Pairs from the first dimension on; torch wants them from the last.
    pairs = [paddings[i : i + 2] for i in range(0, len(paddings), 2)]
    return torch.nn.functional.pad(input, [n for pair in reversed(pairs) for n in pair])


@operator()
def npu_stride_copy(input: Tensor, shape: list[int], stride: list[int], storage_offset: int) -> Tensor:
    return input.as_strided(shape, stride, int(storage_offset)).contiguous()


@operator()
def npu_stride_add(input: Tensor, other: Tensor, offset1: int, offset2: int, c1_len: int) -> Tensor:
    """Adds blocks of 16 channels of the two inputs, each from its own offset on."""
    size = int(c1_len) * 16
    parts = []
    for x, start in ((input, int(offset1) * 16), (other, int(offset2) * 16)):
        part = x[:, start : start + size]
        pad = size - part.shape[1]
        parts.append(torch.nn.functional.pad(part, (0, 0, 0, 0, 0, pad)) if pad else part)
    return parts[0] + parts[1]


@operator()
def npu_one_hot(
    input: Tensor, num_classes: int = -1, depth: int = 1, on_value: float = 1, off_value: float = 0
) -> Tensor:
    hot = input.long().unsqueeze(-1) == torch.arange(depth)
    return torch.where(hot, float(on_value), float(off_value)).float()


@operator()
def npu_sort_v2(input: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    return torch.sort(input, dim, descending)[0]


@operator("npu_max.dim")
def npu_max(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    values, indices = torch.max(input, dim, keepdim)
    return values, indices.int()


@operator("npu_min.dim")
def npu_min(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    values, indices = torch.min(input, dim, keepdim)
    return values, indices.int()


@operator("npu_max_backward", "npu_min_backward")
def npu_extreme_backward(grad: Tensor, dim: int, indices: Tensor, sizes: list[int], keepdim: bool) -> Tensor:
    if not keepdim and sizes:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return torch.zeros(sizes, dtype=grad.dtype).scatter(dim, indices.long(), grad)


@operator()
def npu_dtype_cast(input: Tensor, dtype: int, input_dtype: int | None = None) -> Tensor:
    return input.to(data_type(dtype, input.dtype), copy=True)


@operator()
def _npu_dtype_cast(input: Tensor, dtype: torch.dtype) -> Tensor:
    return input.to(dtype, copy=True)


@operator()
def npu_dtype_cast_(input: Tensor, src: Tensor) -> Tensor:
    return input.copy_(src)


@operator()
def npu_view_copy(input: Tensor, other: Tensor, non_blocking: bool) -> Tensor:
    return input.copy_(other)


@operator()
def one_(input: Tensor) -> Tensor:
    return input.fill_(1)


@operator()
def npu_masked_fill_range(input: Tensor, start: Tensor, end: Tensor, value: Tensor, axis: int = -1) -> Tensor:
    axis %= input.dim()
    out = input.clone()
    places = torch.arange(input.shape[axis])
    shape = [1] * input.dim()
    shape[axis] = -1
    for row in range(start.shape[0]):
        for batch in range(start.shape[1]):
            within = ((places >= start[row, batch]) & (places < end[row, batch])).view(shape[1:] or [-1])
            target = out[batch] if input.dim() > 1 else out
            target.masked_fill_(within.expand(target.shape), value[row].item())
    return out


@operator()
def npu_sign_bits_pack(input: Tensor, size: int) -> Tensor:
    """One bit per number, 1 where it is not negative; padded with -1 to whole bytes."""
    count = (input.numel() + 7) // 8
    bits = torch.zeros(count * 8, dtype=torch.int64)
    bits[: input.numel()] = (input >= 0).long()
    weights = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128])
    return (bits.view(-1, 8) * weights).sum(1).to(torch.uint8).view(size, -1)


@operator()
def npu_sign_bits_unpack(input: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    weights = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=torch.uint8)
    signs = (input.reshape(-1, 1) & weights).ne(0).reshape(size, -1)
    return torch.where(signs, 1.0, -1.0).to(dtype)
