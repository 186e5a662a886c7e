"""The largest values of windows of pictures, and where they were."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import NotEmulated, operator


def _pair(attributes: Any, name: str, missing: int) -> tuple[int, int]:
    """Of one, two or four numbers: with channels before the space, as MindSpore has them, or behind it."""
    given = attributes.get(name)
    numbers = [int(one) for one in (given if isinstance(given, (list, tuple)) else [given or missing])] or [missing]
    if len(numbers) == 4:
        behind = [int(one) for one in attributes["ksize"]][1] != 1
        return (numbers[1], numbers[2]) if behind else (numbers[2], numbers[3])
    return numbers[0], numbers[-1]


@operator("MaxPoolWithArgmaxV2")
def largest(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """`argmax` counts over the rows of a picture, without its edges."""
    x = inputs[0]
    height, width = x.shape[-2:]
    size, step, edge, gap = (_pair(attributes, *one) for one in
                             (("ksize", 1), ("strides", 1), ("pads", 0), ("dilation", 1)))  # fmt: skip
    out = np.full(outputs[0].shape, -np.inf, np.float32)
    places = np.zeros(out.shape, np.int64)
    rows, columns = (np.arange(out.shape[axis - 2]) * step[axis] - edge[axis] for axis in (0, 1))
    for down in range(size[0]):
        for right in range(size[1]):
            line, column = rows + down * gap[0], columns + right * gap[1]
            there = ((line >= 0) & (line < height))[:, None] & ((column >= 0) & (column < width))
            line, column = np.clip(line, 0, height - 1)[:, None], np.clip(column, 0, width - 1)
            value = np.where(there, x[..., line, column], -np.inf)
            better = value > out
            out = np.where(better, value, out)
            places = np.where(better, line * width + column, places)
    return out, places


@operator("MaxPoolGradWithArgmaxV2")
def largest_backward(x: Any, grad: Any, places: Any) -> Any:
    planes = int(np.prod(x.shape[:-2]))
    out = np.zeros((planes, x.shape[-2] * x.shape[-1]), np.float32)
    np.add.at(out, (np.arange(planes)[:, None], places.reshape(planes, -1)), grad.reshape(planes, -1))
    return out.reshape(x.shape)


@operator("MaxPoolGradGrad")
def largest_second(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """The gradient of a gradient: of the third input, what stands at the largest place of each window of the first."""
    if str(attributes.get("data_format", "NCHW")) != "NCHW":
        raise NotEmulated(f"data_format {attributes['data_format']} of MaxPoolGradGrad is not emulated")
    x, grad = inputs[0], inputs[2]
    size, step = (_pair(attributes, name, 1) for name in ("ksize", "strides"))
    room = [(count - 1) * s + k - n for count, s, k, n in zip(outputs[0].shape[-2:], step, size, x.shape[-2:])]
    edge = [max(0, one) // 2 if attributes.get("padding") == "SAME" else 0 for one in room]
    _, places = largest(inputs, {"ksize": size, "strides": step, "pads": edge}, outputs)
    flat = grad.reshape(*grad.shape[:-2], -1)
    return np.take_along_axis(flat, places.reshape(*places.shape[:-2], -1), -1).reshape(outputs[0].shape)
