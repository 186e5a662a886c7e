"""The optimizer CAME by type: its steps over the rows, the columns and the whole of a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import operator


def _number(x: Any) -> float:
    return float(np.reshape(x, -1)[0])


@operator("ApplyCamePart1")
def squares(inputs: Any, _: Any, __: Any) -> Any:
    """The sums of the squares over each row, each column, and everything."""
    found = np.square(inputs[0], dtype=np.float32) + np.float32(_number(inputs[1]))
    return found.sum(-1), found.sum(-2), found.sum((-2, -1))


@operator("ApplyCamePart2")
def factors(inputs: Any, _: Any, __: Any) -> Any:
    """New means of rows and columns, the gradient divided by the root of their product, and the sum of its squares.

    With tensors over several cards, the sum of the old means and the whole shape are given, too.
    """
    grad, row_sums, column_sums, whole, rows, columns = inputs[:6]
    beta, total, shape = _number(inputs[6]), inputs.get(7), inputs.get(8)
    height, width = grad.shape[-2:] if shape is None else (int(one) for one in np.reshape(shape, -1)[:2])
    old = float(np.sum(rows)) if total is None else _number(total)
    rows = beta * rows + (1 - beta) / width * row_sums
    columns = beta * columns + (1 - beta) / height * column_sums
    mean = beta * old / height + (1 - beta) * _number(whole) / (width * height)
    step = grad / np.sqrt(rows[..., :, None] * columns[..., None, :] / mean)
    return rows, columns, step, np.square(step).sum()
