"""Dropout with the masks of the device: one bit or one byte per element.

Operators that draw have a row in data/operators.toml. They keep the elements that torch's `native_dropout` keeps, which
is what `F.dropout` is on an emulated card: a compiled graph calls `_npu_dropout` in its place, and draws the same mask.
"""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.torch_ops import random_bits
from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.registry import operator


@operator()
def _npu_dropout(input: Tensor, p: float) -> tuple[Tensor, Tensor]:
    output, keep = torch.native_dropout(input, p, True)
    return output, random_bits.pack(keep.to(torch.uint8))


@operator()
def npu_dropout_do_mask(input: Tensor, mask: Tensor, p: float) -> tuple[Tensor, Tensor]:
    return _apply(input, mask, p), mask


@operator()
def npu_dropout_backward(grad_output: Tensor, mask: Tensor, p: float) -> Tensor:
    return _apply(grad_output, mask, p)


@operator("_npu_dropout_gen_mask.Tensor")
def _npu_dropout_gen_mask(
    input: Tensor,
    size: list[int],
    p: float,
    seed: int,
    offset: int,
    *,
    parallel: bool | None = True,
    sync: bool | None = None,
) -> Tensor:
    count = torch.Size(size).numel()
    return random_bits.pack(random_bits.keep_bits(count, p, seed, offset))


@operator()
def _dropout_with_byte_mask(input: Tensor, p: float) -> tuple[Tensor, Tensor]:
    keep = _draw(input, p)
    return _scale(input, keep, p), keep.reshape(-1)


@operator()
def _dropout_with_byte_mask_backward(grad_output: Tensor, mask: Tensor, p: float) -> Tensor:
    return _scale(grad_output, mask[: grad_output.numel()].view(grad_output.shape), p)


@operator()
def npu_dropout_with_add_softmax(
    input: Tensor, x1: Tensor, alpha: float, prob: float, dim: int
) -> tuple[Tensor, Tensor, Tensor]:
    softmax = torch.softmax(wide(input) * alpha + wide(x1), dim).to(input.dtype)
    mask = _draw(input, prob)
    return mask, softmax, _scale(softmax, mask, prob)


@operator()
def npu_dropout_with_add_softmax_backward(
    grad: Tensor, mask: Tensor, softmax_out: Tensor, alpha: float, prob: float, dim: int
) -> tuple[Tensor, Tensor]:
    y = wide(softmax_out)
    d = wide(_scale(grad, mask, prob))
    dx = y * (d - (d * y).sum(dim, keepdim=True))
    return (dx * alpha).to(grad.dtype), dx.to(grad.dtype)


def _draw(x: Tensor, p: float) -> Tensor:
    return torch.native_dropout(x, p, True)[1].to(torch.uint8)


def _apply(x: Tensor, mask: Tensor, p: float) -> Tensor:
    return _scale(x, random_bits.unpack(mask, x.numel()).view(x.shape), p)


def _scale(x: Tensor, keep: Tensor, p: float) -> Tensor:
    if p >= 1:
        return torch.zeros_like(x)
    return torch.ops.aten.native_dropout_backward(wide(x), keep.bool(), 1 / (1 - p)).to(x.dtype)
