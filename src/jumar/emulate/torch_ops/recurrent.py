"""Recurrent layers under NPU names: gates of torch.nn.LSTM and GRU, weights as (inputs, gates), results of every step.

Gate order as in op-plugin's LstmKernelNpu.cpp (`ifjo`) and GruKernelNpu.cpp (`rzh`), which is torch's own. Of the
gradients of the states, the device's kernels take those of the last step; so do these.
"""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.core.compat import zip
from jumar.emulate.torch_ops.formula import gradients, wide
from jumar.emulate.torch_ops.registry import not_emulated, operator


@operator()
def npu_lstm(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    seq_mask: Tensor,
    h: Tensor,
    c: Tensor,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    flag_seq: bool,
    direction: bool,
) -> tuple[Tensor, ...]:
    if flag_seq:
        raise not_emulated("npu_lstm", "with `flag_seq`")
    steps = input.flip(0) if direction else input
    results = _lstm(*(wide(t) for t in (steps, weight, bias, h, c)))
    return tuple((t.flip(0) if direction else t).to(input.dtype) for t in results)


@operator()
def npu_lstm_backward(
    grady: Tensor | None,
    gradh: Tensor | None,
    gradc: Tensor | None,
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    hx: Tensor,
    cx: Tensor,
    y_output: Tensor,
    h_output: Tensor,
    c_output: Tensor,
    i: Tensor,
    j: Tensor,
    f: Tensor,
    o: Tensor,
    tanhc: Tensor,
) -> tuple[Tensor, ...]:
    return tuple(gradients(_lstm_ends, [input, weight, bias, hx, cx], [grady, _last(gradh), _last(gradc)]))


def _lstm(x: Tensor, weight: Tensor, bias: Tensor, h: Tensor, c: Tensor) -> list[Tensor]:
    """y, h, c, the gates i, j, f, o, and tanh(c), each as (steps, batch, size)."""
    size = weight.shape[1] // 4
    h, c = h.reshape(-1, size), c.reshape(-1, size)
    rows = []
    for step in x:
        into, forget, new, out = (torch.cat([step, h], 1) @ weight + bias).chunk(4, 1)
        into, forget, new, out = into.sigmoid(), forget.sigmoid(), new.tanh(), out.sigmoid()
        c = forget * c + into * new
        h = out * c.tanh()
        rows.append((h, h, c, into, new, forget, out, c.tanh()))
    return [torch.stack(parts) for parts in zip(*rows, strict=True)]


def _lstm_ends(x: Tensor, weight: Tensor, bias: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    y, states, cells, *_ = _lstm(x, weight, bias, h, c)
    return y, states[-1], cells[-1]


def _last(grad: Tensor | None) -> Tensor | None:
    return None if grad is None else grad[-1]


@operator()
def npu_lstm_cell(
    input: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    h: Tensor,
    c: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, ...]:
    bias = wide(b_ih) + wide(b_hh) if b_ih is not None and b_hh is not None else wide(w_ih).new_zeros(w_ih.shape[1])
    weight = torch.cat([wide(w_ih), wide(w_hh)])
    y, states, cells, *gates = _lstm(wide(input).unsqueeze(0), weight, bias, wide(h), wide(c))
    return tuple(t.to(input.dtype) for t in (y, states[0], cells[0], *gates))


@operator()
def npu_lstm_cell_backward(
    grady: Tensor | None,
    gradh: Tensor | None,
    gradc: Tensor | None,
    input: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    h: Tensor,
    c: Tensor,
    y_output: Tensor,
    h_output: Tensor,
    c_output: Tensor,
    i: Tensor,
    j: Tensor,
    f: Tensor,
    o: Tensor,
    tanhc: Tensor,
) -> tuple[Tensor, ...]:
    into, new, forget, out, top = (wide(t).reshape(h.shape) for t in (i, j, f, o, tanhc))
    d_state = sum((wide(t).reshape(h.shape) for t in (grady, gradh) if t is not None), torch.zeros(h.shape))
    d_cell = d_state * out * (1 - top * top)
    if gradc is not None:
        d_cell = d_cell + wide(gradc)
    gates = torch.cat(
        [
            d_cell * new * into * (1 - into),
            d_cell * wide(c) * forget * (1 - forget),
            d_cell * into * (1 - new * new),
            d_state * top * out * (1 - out),
        ],
        1,
    )
    of_x, of_h, bias = wide(input).t() @ gates, wide(h).t() @ gates, gates.sum(0)
    results = (gates @ wide(w_ih).t(), of_x, of_h, bias, bias.clone(), gates @ wide(w_hh).t(), d_cell * forget)
    return tuple(t.to(input.dtype) for t in results)


@operator()
def npu_gru(
    input: Tensor,
    hx: Tensor,
    weight_input: Tensor,
    weight_hidden: Tensor,
    bias_input: Tensor,
    bias_hidden: Tensor,
    seq_length: Tensor,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    parts = (input, hx, weight_input, weight_hidden, bias_input, bias_hidden)
    return tuple(t.to(bias_input.dtype) for t in _gru(*(wide(t) for t in parts)))


@operator()
def npu_gru_backward(
    grady: Tensor | None,
    gradh: Tensor | None,
    input: Tensor,
    weight_input: Tensor,
    weight_hidden: Tensor,
    bias_input: Tensor,
    bias_hidden: Tensor,
    seq_length: Tensor,
    hx: Tensor,
    y_output: Tensor,
    h_output: Tensor,
    output_updata: Tensor,
    output_reset: Tensor,
    output_new: Tensor,
    hidden_new: Tensor,
) -> tuple[Tensor, ...]:
    def formula(*parts: Tensor) -> tuple[Tensor, Tensor]:
        y, states, *_ = _gru(*parts)
        return y, states[-1]

    parts = [input, hx, weight_input, weight_hidden, bias_input, bias_hidden]
    dx, dh, d_input, d_hidden, db_input, db_hidden = gradients(formula, parts, [grady, _last(gradh)])
    return d_input, d_hidden, dx, db_input, db_hidden, dh


def _gru(x: Tensor, h: Tensor, of_x: Tensor, of_h: Tensor, bias_x: Tensor, bias_h: Tensor) -> list[Tensor]:
    """y, h, the gates update, reset and new, and the hidden part of new, each as (steps, batch, size)."""
    h = h.reshape(-1, of_h.shape[0])
    rows = []
    for step in x:
        reset_x, update_x, new_x = (step @ of_x + bias_x).chunk(3, 1)
        reset_h, update_h, new_h = (h @ of_h + bias_h).chunk(3, 1)
        reset, update = (reset_x + reset_h).sigmoid(), (update_x + update_h).sigmoid()
        new = (new_x + reset * new_h).tanh()
        h = (1 - update) * new + update * h
        rows.append((h, h, update, reset, new, new_h))
    return [torch.stack(parts) for parts in zip(*rows, strict=True)]
