"""Pooling that keeps where the maxima were: what torch_npu keeps is not what the CPU keeps.

MaxPool2dWithIndicesKernelNpuOpApi.cpp:136 allocates an int8 mask with one row for each place in the window and 32 bytes
for every 16 results; from the 950 on, or with TORCH_NPU_USE_COMPATIBLE_IMPL=1, int32 positions (:140). How the chip
fills its mask is not public. Here byte `n` of a row is 1 where the maximum of window `n` is at the row's place.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from jumar.emulate import env
from jumar.emulate.torch_ops.registry import operator

_BLOCK, _BYTES = 16, 32


class Window(NamedTuple):
    """Height and width of each."""

    size: tuple[int, int]
    step: tuple[int, int]
    padding: tuple[int, int]
    gap: tuple[int, int]

    @classmethod
    def of(cls, size: list[int], step: list[int], padding: list[int], gap: list[int]) -> Window:
        return cls(*(_pair(values) for values in (size, step or size, padding, gap)))


@operator("aten::max_pool2d_with_indices")
def max_pool2d_with_indices(
    self: Tensor,
    kernel_size: list[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    given = [list(values) for values in (kernel_size, stride, padding, dilation)]
    out, places = torch.ops.aten.max_pool2d_with_indices(_computed(self), *given, ceil_mode)
    kept = _mask(places, self.shape[-1], Window.of(*given)) if _keeps_mask() else places.int()
    return out.to(self.dtype), kept


@operator("aten::max_pool2d_with_indices.out")
def max_pool2d_with_indices_out(
    self: Tensor,
    kernel_size: list[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
    *,
    out: Tensor,
    indices: Tensor,
) -> tuple[Tensor, Tensor]:
    largest, kept = max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)
    return out.resize_(largest.shape).copy_(largest), indices.resize_(kept.shape).copy_(kept)


@operator("aten::max_pool2d_with_indices_backward")
def max_pool2d_with_indices_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
    indices: Tensor,
) -> Tensor:
    given = (kernel_size, stride, padding, dilation)
    is_mask = indices.dtype == torch.int8
    places = _places(indices, grad_output, self.shape[-1], Window.of(*given)) if is_mask else indices.long()
    grad = torch.ops.aten.max_pool2d_with_indices_backward(
        _computed(grad_output), _computed(self), *given, ceil_mode, places
    )
    return grad.to(self.dtype)


@operator("aten::max_pool2d_with_indices_backward.grad_input")
def max_pool2d_with_indices_backward_out(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
    indices: Tensor,
    *,
    grad_input: Tensor,
) -> Tensor:
    given = (kernel_size, stride, padding, dilation, ceil_mode, indices)
    return grad_input.resize_(self.shape).copy_(max_pool2d_with_indices_backward(grad_output, self, *given))


def _keeps_mask() -> bool:
    return env.chip() != "950" and os.environ.get("TORCH_NPU_USE_COMPATIBLE_IMPL", "0") != "1"


def _mask(places: Tensor, width: int, window: Window) -> Tensor:
    """`places` count the elements of an image of this width, row by row."""
    down, right = _starts(places, window)
    rows = (places // width - down) // window.gap[0]
    columns = (places % width - right) // window.gap[1]
    number = (rows * window.size[1] + columns).flatten(-2).unsqueeze(-2)
    count = number.shape[-1]
    length = (math.ceil(count / _BLOCK) + 1) * _BYTES
    mask = torch.zeros(*places.shape[:-2], math.prod(window.size), length, dtype=torch.int8)
    mask[..., :count].scatter_(-2, number, 1)
    return mask


def _places(mask: Tensor, like: Tensor, width: int, window: Window) -> Tensor:
    down, right = _starts(like, window)
    number = mask[..., : like.shape[-2] * like.shape[-1]].argmax(-2).view(like.shape)
    rows = down + number // window.size[1] * window.gap[0]
    return rows * width + right + number % window.size[1] * window.gap[1]


def _starts(results: Tensor, window: Window) -> tuple[Tensor, Tensor]:
    """Where the window of each result begins: rows as a column, columns as a row."""
    down, right = (torch.arange(results.shape[dim - 2]) * window.step[dim] - window.padding[dim] for dim in range(2))
    return down.unsqueeze(-1), right


def _computed(tensor: Tensor) -> Tensor:
    """Older torch has no kernel for half precision on the CPU; a maximum is the same in float32."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _pair(values: Sequence[int]) -> tuple[int, int]:
    return values[0], values[-1]
