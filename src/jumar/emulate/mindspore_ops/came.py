"""The optimizer CAME by type: its steps over the rows, the columns and the whole of a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import operator


def _number(x: Any) -> float:
    return float(np.reshape(x, -1)[0])


def _whole(x: Any, shape: Any) -> tuple[int, int]:
    """Height and width of the whole tensor, of which a card may have a part."""
    height, width = x.shape[-2:] if shape is None else np.reshape(shape, -1)[:2]
    return int(height), int(width)


@operator("ApplyCamePart1")
def squares(grad: Any, epsilon: Any) -> Any:
    """The sums of the squares over each row, each column, and everything."""
    found = np.square(grad, dtype=np.float32) + np.float32(_number(epsilon))
    return found.sum(-1), found.sum(-2), found.sum((-2, -1))


@operator("ApplyCamePart2")
def factors(
    grad: Any,
    row_sums: Any,
    column_sums: Any,
    whole: Any,
    rows: Any,
    columns: Any,
    decay: Any,
    row_total: Any = None,
    shape: Any = None,
) -> Any:
    """New means of rows and columns, the gradient divided by the root of their product, and the sum of its squares.

    With tensors over several cards, the sum of the old means and the whole shape are given, too.
    """
    beta = _number(decay)
    height, width = _whole(grad, shape)
    old = float(np.sum(rows)) if row_total is None else _number(row_total)
    rows = beta * rows + (1 - beta) / width * row_sums
    columns = beta * columns + (1 - beta) / height * column_sums
    mean = beta * old / height + (1 - beta) * _number(whole) / (width * height)
    step = grad / np.sqrt(rows[..., :, None] * columns[..., None, :] / mean)
    return rows, columns, step, np.square(step).sum()


@operator("ApplyCamePart3")
def residue(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """The clipped step goes into the moment; how far it is from that is summed as the squares of the gradient were."""
    step, moment = inputs[:2]
    epsilon, beta, limit, total = (_number(inputs[at]) for at in (2, 3, 4, 5))
    height, width = _whole(step, inputs.get(6))
    step = step / max(1.0, total / (height * width) / limit)
    new = beta * moment + (1 - beta) * step
    found = np.square(step - new) + epsilon
    return new if attributes.get("use_first_moment") else moment, found.sum(-1), found.sum(-2), found.sum((-2, -1))


@operator("ApplyCamePart4")
def apply(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """New means of that distance, and the parameter, by the moment over the root of their product."""
    parameter, moment, rows, columns = inputs[:4]
    decay, rate, beta, all_ = (_number(inputs[at]) for at in (4, 5, 6, 10))
    height, width = _whole(parameter, inputs.get(11))
    old = float(np.sum(rows)) if inputs.get(7) is None else _number(inputs[7])
    rows = beta * rows + (1 - beta) / width * inputs[8]
    columns = beta * columns + (1 - beta) / height * inputs[9]
    mean = beta * old / height + (1 - beta) * all_ / (width * height)
    step = rate * moment / np.sqrt(rows[..., :, None] * columns[..., None, :] / mean)
    return inputs.write(0, (1 - rate * decay) * parameter - step), inputs.write(2, rows), inputs.write(3, columns)
