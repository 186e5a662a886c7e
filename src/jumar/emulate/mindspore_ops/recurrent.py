"""LSTM and GRU over whole sequences, with the gates that their gradients need."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from .registry import NotEmulated, operator

_EMULATED: dict[str, tuple[Any, ...]] = {
    "activation": ("tanh",), "cell_clip": (-1.0,), "cell_type": ("LSTM",), "keep_prob": (1.0,), "num_proj": (0,),
    "direction": ("UNIDIRECTIONAL", "REDIRECTIONAL"), "reset_after": (1,), "time_major": (1,), "use_peephole": (0,),
}  # fmt: skip
"""Values of attributes; the first is what a missing one means."""


def _checked(attributes: dict[str, Any], *lengths: Any) -> None:
    for name, values in _EMULATED.items():
        if attributes.get(name, values[0]) not in values:
            raise NotEmulated(f"{name} {attributes[name]} is not emulated")
    if any(one is not None and np.size(one) for one in lengths):
        raise NotEmulated("lengths of sequences are not emulated")


def _steps(attributes: dict[str, Any], length: int) -> Any:
    """The order of the steps in time."""
    backwards = attributes.get("direction", "UNIDIRECTIONAL") == "REDIRECTIONAL"
    return range(length - 1, -1, -1) if backwards else range(length)


def _state(inputs: Any, at: int, shape: tuple[int, ...]) -> Any:
    given = inputs[at] if len(inputs) > at else None
    return np.zeros(shape, np.float32) if given is None or not given.size else given.reshape(shape)


@operator("DynamicRNN")
def lstm(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Inputs: x, weight, bias, lengths, first h, first c. Gates i, j, f, o in that order, or i, f, j, o."""
    _checked(attributes, *inputs[3:4])
    x, weight, bias = inputs[:3]
    length, batch = x.shape[:2]
    size = weight.shape[1] // 4
    h, c = (_state(inputs, at, (batch, size)) for at in (4, 5))
    found = [np.zeros((length, batch, size), np.float32) for _ in range(8)]
    for t in _steps(attributes, length):
        i, j, f, o = _gates(np.concatenate([x[t], h], -1) @ weight + bias, attributes)
        c = c * f + i * j
        h = o * np.tanh(c)
        for place, value in zip(found, (h, h, c, i, j, f, o, np.tanh(c))):
            place[t] = value
    return found


def _gates(x: Any, attributes: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    first, second, third, o = np.split(x, 4, -1)
    j, f = (third, second) if attributes.get("gate_order", "ijfo") == "ifco" else (second, third)
    return expit(first), np.tanh(j), expit(f + attributes.get("forget_bias", 0.0)), expit(o)


@operator("DynamicRNNGrad")
def lstm_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Inputs: x, weight, bias, y, first h, first c, h, c, dy, dh, dc, i, j, f, o, tanh(c)."""
    _checked(attributes)
    x, weight, _, _, h0, c0, h, c, dy, dh, dc, i, j, f, o, tanh_c = inputs[:16]
    length, batch, width = x.shape
    size = weight.shape[1] // 4
    h0, c0, to_h, to_c = (one.reshape(batch, size) for one in (h0, c0, dh, dc))
    to_weight, to_bias, to_x = np.zeros(weight.shape, np.float32), np.zeros(4 * size, np.float32), np.zeros_like(x)
    order = list(_steps(attributes, length))
    for number in range(length - 1, -1, -1):
        t, before = order[number], order[number - 1]
        last_h, last_c = (h[before], c[before]) if number else (h0, c0)
        to_h = to_h + dy[t]
        to_c = to_c + to_h * o[t] * (1 - tanh_c[t] ** 2)
        slopes = [
            to_c * j[t] * i[t] * (1 - i[t]),
            to_c * i[t] * (1 - j[t] ** 2),
            to_c * last_c * f[t] * (1 - f[t]),
            to_h * tanh_c[t] * o[t] * (1 - o[t]),
        ]
        if attributes.get("gate_order", "ijfo") == "ifco":
            slopes[1], slopes[2] = slopes[2], slopes[1]
        slope = np.concatenate(slopes, -1)
        to_weight += np.concatenate([x[t], last_h], -1).T @ slope
        to_bias += slope.sum(0)
        back = slope @ weight.T
        to_x[t], to_h, to_c = back[:, :width], back[:, width:], to_c * f[t]
    return to_weight, to_bias, to_x, to_h, to_c


@operator("DynamicGRUV2")
def gru(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Inputs: x, weights of the input and of the state, their biases, lengths, first h. Gates z, r, h, or r, z, h."""
    _checked(attributes, *inputs[5:6])
    x, weight, inner = inputs[:3]
    length, batch = x.shape[:2]
    size = inner.shape[0]
    bias, more = (_state(inputs, at, (3 * size,)) for at in (3, 4))
    h = _state(inputs, 6, (batch, size))
    found = [np.zeros((length, batch, size), np.float32) for _ in range(6)]
    for t in _steps(attributes, length):
        first, second, third = np.split(x[t] @ weight + bias, 3, -1)
        one, two, hidden = np.split(h @ inner + more, 3, -1)
        z, r = expit(first + one), expit(second + two)
        if attributes.get("gate_order", "zrh") == "rzh":
            z, r = r, z
        new = np.tanh(third + r * hidden)
        h = (1 - z) * new + z * h
        for place, value in zip(found, (h, h, z, r, new, hidden)):
            place[t] = value
    return found


@operator("DynamicGRUV2Grad")
def gru_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Inputs: x, weights of the input and of the state, y, first h, h, dy, dh, update, reset, new, hidden new."""
    _checked(attributes)
    x, weight, inner, _, h0, h, dy, dh, z, r, new, hidden = inputs[:12]
    length, batch, _ = x.shape
    size = inner.shape[0]
    to_h = dh.reshape(batch, size)
    to_weight, to_inner = np.zeros(weight.shape, np.float32), np.zeros(inner.shape, np.float32)
    first, second, to_x = np.zeros(3 * size, np.float32), np.zeros(3 * size, np.float32), np.zeros_like(x)
    order = list(_steps(attributes, length))
    for number in range(length - 1, -1, -1):
        t = order[number]
        last = h[order[number - 1]] if number else h0.reshape(batch, size)
        to_h = to_h + dy[t]
        to_new = to_h * (1 - z[t]) * (1 - new[t] ** 2)
        to_z = to_h * (last - new[t]) * z[t] * (1 - z[t])
        to_r = to_new * hidden[t] * r[t] * (1 - r[t])
        gates = [to_r, to_z] if attributes.get("gate_order", "zrh") == "rzh" else [to_z, to_r]
        outer, inside = np.concatenate([*gates, to_new], -1), np.concatenate([*gates, to_new * r[t]], -1)
        to_weight += x[t].T @ outer
        to_inner += last.T @ inside
        first += outer.sum(0)
        second += inside.sum(0)
        to_x[t] = outer @ weight.T
        to_h = to_h * z[t] + inside @ inner.T
    return to_weight, to_inner, first, second, to_x, to_h
