"""Sets of rows, distances of sequences, and tensors as they are,."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..formulas import activation
from .registry import operator


def _number(x: Any) -> Any:
    return np.reshape(x, -1)[0]


@operator("CheckNumerics")
def check(x: Any, *, message: str | None = None) -> Any:
    if not np.isfinite(x).all():
        raise ValueError(f"{message or ''} a number is infinite or none".strip())
    return x


@operator("Expand")
def expand(x: Any, outputs: Any) -> Any:
    return np.broadcast_to(x, outputs[0].shape)


@operator("ArgMax")
def place_of_largest(inputs: Any, attributes: Any, outputs: Any) -> Any:
    axis = attributes.get("axis", attributes.get("dimension", 0)) if len(inputs) < 2 else _number(inputs[1])
    return np.argmax(inputs[0], int(axis))


@operator("AccumulateNV2")
def total(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return sum(inputs[1:], inputs[0])


@operator("ReduceLogSum")
def log_of_sum(x: Any, axis: Any, *, keep_dims: bool = False) -> Any:
    axes = tuple(int(one) for one in np.reshape(axis, -1)) or None
    return np.log(np.sum(x, axes, keepdims=bool(keep_dims)))


@operator("Centralization")
def centre(inputs: Any, attributes: Any, outputs: Any) -> Any:
    axes = tuple(int(one) for one in attributes.get("axes") or [-1])
    return inputs[0] - inputs[0].mean(axes, keepdims=True)


@operator("MaskedScatter")
def fill_mask(x: Any, where: Any, updates: Any) -> Any:
    """Values one after the other, where the mask is true."""
    out, mask = np.array(x), np.broadcast_to(where.astype(bool), x.shape)
    out[mask] = np.reshape(updates, -1)[: int(mask.sum())]
    return out


@operator("ConcatOffset")
def starts(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Where each tensor begins in all of them one behind the other."""
    axis, ranks = int(attributes.get("axis") or 0), np.ndim(inputs[0])
    out = np.zeros((len(inputs), ranks), np.int64)
    out[1:, axis] = np.cumsum([one.shape[axis] for one in inputs])[:-1]
    return out


@operator("DynamicStitch")
def stitch(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Rows to the places that come with them; of several rows for a place, the last counts."""
    half = len(inputs) // 2
    out = np.zeros(outputs[0].shape, inputs[half].dtype)
    for places, rows in zip(inputs[:half], inputs[half:]):
        out[places] = rows
    return out


@operator("ConfusionMatrix")
def confusion(inputs: Any, attributes: Any, outputs: Any) -> Any:
    out = np.zeros(outputs[0].shape, np.float64)
    weights = inputs.get(2)
    np.add.at(out, (inputs[0], inputs[1]), 1 if weights is None else weights)
    return out


@operator("MirrorPadGrad")
def mirror_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    mode = {"REFLECT": "reflect", "SYMMETRIC": "symmetric"}[attributes.get("mode") or "REFLECT"]
    shape = outputs[0].shape
    places: Any = np.pad(np.arange(int(np.prod(shape))).reshape(shape), np.asarray(inputs[1]).tolist(), mode)
    out = np.zeros(int(np.prod(shape)), inputs[0].dtype)
    np.add.at(out, places.reshape(-1), inputs[0].reshape(-1))
    return out.reshape(shape)


@operator("EditDistance")
def edits(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Between sequences in two sparse tensors, each with places, values and a shape."""
    out = np.zeros(outputs[0].shape, np.float32)
    guesses, truths = (_sequences(*inputs[at : at + 2]) for at in (0, 3))
    for place in np.ndindex(out.shape):
        guess, truth = guesses.get(place, []), truths.get(place, [])
        distance = float(_distance(guess, truth))
        if attributes.get("normalize", 1):
            distance = distance / len(truth) if truth else float("inf") if guess else 0.0
        out[place] = distance
    return out


def _sequences(places: Any, values: Any) -> dict[tuple[int, ...], list[Any]]:
    found: dict[tuple[int, ...], list[Any]] = {}
    for place, value in zip(places, values):
        found.setdefault(tuple(int(one) for one in place[:-1]), []).append(value)
    return found


def _distance(one: list[Any], other: list[Any]) -> int:
    """Letters to put in, take out or change."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, row[0] = row[0], at
        for column, wanted in enumerate(other, 1):
            before, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, before + (letter != wanted))
    return row[-1]


@operator("GLU")
def gate(x: Any, *, dim: Any = None, axis: Any = -1) -> Any:
    return activation.glu(x, int(axis if dim is None else dim))


@operator("GLUGrad")
def gate_backward(grad: Any, x: Any, *, dim: Any = None, axis: Any = -1) -> Any:
    return activation.glu_backward(grad, x, int(axis if dim is None else dim))
