"""Operators of the older interface that have no family of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import NotEmulated, operator


def _neighbours(x: Any, radius: int) -> Any:
    """The sum over the channels around each one."""
    padded = np.pad(x, [(0, 0), (radius, radius), (0, 0), (0, 0)])
    return sum(padded[:, at : at + x.shape[1]] for at in range(2 * radius + 1))


@operator("LRN")
def local_response(x: Any, *, bias: float, alpha: float, beta: float, depth_radius: int) -> Any:
    scale = bias + alpha * _neighbours(x * x, depth_radius)
    return x * scale**-beta


@operator("LRNGrad")
def local_response_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    grad, x, out = inputs[:3]
    radius, beta = int(attributes["depth_radius"]), attributes["beta"]
    scale = attributes["bias"] + attributes["alpha"] * _neighbours(x * x, radius)
    return grad * scale**-beta - 2 * attributes["alpha"] * beta * x * _neighbours(grad * out / scale, radius)


@operator("ParallelConcat")
def parallel_concat(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return np.concatenate(list(inputs), 0)


@operator("Concat")
def concat(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """The axis is the first input, or the last."""
    first = np.size(inputs[0]) == 1 and inputs[0].dtype.kind == "i" and np.ndim(inputs[0]) <= 1 and inputs[1].ndim > 0
    axis = inputs[0] if first else inputs[-1]
    parts = inputs[1:] if first else inputs[:-1]
    if np.size(axis) != 1:
        raise NotEmulated("the axis is missing")
    return np.concatenate(list(parts), int(np.reshape(axis, -1)[0]))


@operator("BoundingBoxEncode")
def encode_boxes(inputs: Any, attributes: Any, outputs: Any) -> Any:
    (x, y, w, h), (gx, gy, gw, gh) = (_centred(one) for one in inputs[:2])
    found = np.stack([(gx - x) / w, (gy - y) / h, np.log(gw / w), np.log(gh / h)], -1)
    means, stds = (np.asarray(attributes[name], np.float32) for name in ("means", "stds"))
    return (found - means) / stds


def _centred(boxes: Any) -> Any:
    left, top, right, bottom = np.moveaxis(boxes, -1, 0)
    return (left + right) / 2, (top + bottom) / 2, right - left + 1, bottom - top + 1


@operator("Correlate")
def correlate(x: Any, other: Any, *, mode: str = "valid") -> Any:
    return np.correlate(x, other, mode or "valid")


@operator("Meshgrid")
def meshgrid(inputs: Any, attributes: Any, outputs: Any) -> Any:
    if not inputs:
        raise ValueError("no axes")
    return [np.array(one) for one in np.meshgrid(*inputs, indexing=attributes.get("indexing", "xy"))]


@operator("Slice", "SliceD")
def piece(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """From `offsets` on, as many as `size` says; -1 means all that are left."""
    given = [inputs.get(at) if inputs.get(at) is not None else attributes[name] for at, name in _PIECE]
    starts, sizes = ([int(v) for v in np.reshape(one, -1)] for one in given)
    return inputs[0][tuple(slice(at, None if size < 0 else at + size) for at, size in zip(starts, sizes))]


_PIECE = ((1, "offsets"), (2, "size"))


@operator("SliceGrad")
def slice_backward(part: Any, x: Any, offsets: Any, outputs: Any) -> Any:
    grad, begin = part, [int(v) for v in np.reshape(offsets, -1)]
    out = np.zeros(outputs[0].shape, grad.dtype)
    out[tuple(slice(at, at + size) for at, size in zip(begin, grad.shape))] = grad
    return out
