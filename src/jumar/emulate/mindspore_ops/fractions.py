"""Pooling over cells of unequal sizes, whose limits are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from .drawing import seeded
from .registry import operator


def _limits(size: int, count: int, attributes: Any, numbers: Any) -> Any:
    """Where the cells begin, and the end: two sizes in any order, or as a falling number says."""
    ratio = size / count
    if attributes.get("pseudo_random"):
        start = numbers.random()
        inner = np.ceil(ratio * (np.arange(1, count) + start)) - np.ceil(ratio * start)
        return np.concatenate([[0], inner, [size]]).astype(np.int64)
    small = size // count
    steps = np.full(count, small)
    steps[: size - small * count] += 1
    return np.concatenate([[0], np.cumsum(numbers.permutation(steps))]).astype(np.int64)


def _cells(rows: Any, columns: Any, shape: Any, overlapping: Any) -> Any:
    """The place of each cell, and its part of the picture."""
    wide = 1 if overlapping else 0
    for line in range(len(rows) - 1):
        for column in range(len(columns) - 1):
            down = slice(int(rows[line]), min(int(rows[line + 1]) + wide, shape[1]))
            yield line, column, down, slice(int(columns[column]), min(int(columns[column + 1]) + wide, shape[2]))


for _name in ("FractionalMaxPool", "FractionalAvgPool"):

    @operator(_name)
    def pool(inputs: Any, attributes: Any, outputs: Any, largest: bool = _name.endswith("MaxPool")) -> Any:
        """Results, and the limits of their lines and columns; channels are last."""
        x, numbers = inputs[0], seeded(attributes)
        rows, columns = (_limits(x.shape[axis], outputs[0].shape[axis], attributes, numbers) for axis in (1, 2))
        out = np.zeros(outputs[0].shape, np.float64)
        for line, column, down, along in _cells(rows, columns, x.shape, attributes.get("overlapping")):
            cell = x[:, down, along]
            out[:, line, column] = cell.max((1, 2)) if largest else cell.mean((1, 2))
        return out, rows, columns


@operator("FractionalMaxPoolGrad")
def largest_backward(x: Any, results: Any, grad: Any, rows: Any, columns: Any, *, overlapping: bool = False) -> Any:
    """Inputs: what was pooled, the results, their gradient, and the limits."""
    out = np.zeros(x.shape, np.float64)
    for line, column, down, along in _cells(rows, columns, x.shape, overlapping):
        cell = x[:, down, along]
        best = cell.reshape(len(x), -1, x.shape[-1]).argmax(1)
        place = np.unravel_index(best, cell.shape[1:3])
        lines, places = place[0] + down.start, place[1] + along.start
        np.add.at(out, (np.arange(len(x))[:, None], lines, places, np.arange(x.shape[-1])), grad[:, line, column])
    return out


@operator("FractionalAvgPoolGrad")
def average_backward(shape: Any, grad: Any, rows: Any, columns: Any, *, overlapping: bool = False, outputs: Any) -> Any:
    """Inputs: the shape of what was pooled, the gradient of the results, and the limits."""
    out = np.zeros(outputs[0].shape, np.float64)
    for line, column, down, along in _cells(rows, columns, out.shape, overlapping):
        cell = out[:, down, along]
        cell += grad[:, line, column][:, None, None] / (cell.shape[1] * cell.shape[2])
    return out
