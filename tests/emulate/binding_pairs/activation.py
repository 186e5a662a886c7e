"""Activations and their gradients."""

from __future__ import annotations

from . import Results, Side, drawn, pair


@pair("fast_gelu", "FastGelu")
@pair("npu_fast_gelu", "FastGelu")
def fast_gelu(torch_side: Side, mindspore_side: Side) -> Results:
    x = 4 * drawn(3, 5)
    yield "", torch_side(x), mindspore_side(x=x)


@pair("npu_fast_gelu_backward", "FastGeluGrad")
def fast_gelu_backward(torch_side: Side, mindspore_side: Side) -> Results:
    grad, x = drawn(3, 5, seed=2), 4 * drawn(3, 5)
    yield "", torch_side(grad, x), mindspore_side(grad=grad, x=x)


@pair("npu_silu_backward", "SiluGrad")
def silu_backward(torch_side: Side, mindspore_side: Side) -> Results:
    grad, x = drawn(3, 5, seed=2), 4 * drawn(3, 5)
    yield "", torch_side(grad, x, x), mindspore_side(dy=grad, x=x)
