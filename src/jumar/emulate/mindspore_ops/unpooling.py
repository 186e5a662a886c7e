"""Pooling turned round, pooling of random windows and adaptive pooling of volumes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import operator


def _channels_second(x: Any, attributes: Any) -> Any:
    return np.moveaxis(x, -1, 1) if str(attributes.get("data_format", "NCHW"))[-1] == "C" else x


def _channels_back(x: Any, attributes: Any) -> Any:
    return np.moveaxis(x, 1, -1) if str(attributes.get("data_format", "NCHW"))[-1] == "C" else x


@operator("MaxUnpool2D", "MaxUnpool3D")
def unpool(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Values back to the places that pooling took them from, zeros elsewhere."""
    x, places = (_channels_second(one, attributes) for one in inputs[:2])
    shape = _channels_second(np.empty(outputs[0].shape, bool), attributes).shape
    out = np.zeros((*shape[:2], int(np.prod(shape[2:]))), x.dtype)
    if places.size and not 0 <= places.min() <= places.max() < out.shape[-1]:
        raise ValueError(f"an index is out of range for {shape[2:]}")
    np.put_along_axis(out, places.reshape(*shape[:2], -1), x.reshape(*shape[:2], -1), -1)
    return _channels_back(out.reshape(shape), attributes)


@operator("MaxUnpool2DGrad", "MaxUnpool3DGrad")
def unpool_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x, grad, places = (_channels_second(one, attributes) for one in inputs[:3])
    rows = (*x.shape[:2], -1)
    found = np.take_along_axis(grad.reshape(rows), places.reshape(rows), -1)
    return _channels_back(found.reshape(x.shape), attributes)


def _starts(sample: float, size: int, count: int, window: int) -> Any:
    """Where the windows along an axis begin, for a random number."""
    if count == 1:
        return np.array([size - window])
    step = (size - window) / (count - 1)
    found = ((np.arange(count) + sample) * step).astype(np.int64) - int(sample * step)
    found[-1] = size - window
    return found


@operator("FractionalMaxPool3DWithFixedKsize")
def fractional(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """The largest values of windows at random places, and where they stand in a channel."""
    x = _channels_second(inputs[0], attributes)
    samples = inputs[1]
    window, size = ([int(v) for v in np.reshape(attributes[name], -1)[-3:]] for name in ("ksize", "output_shape"))
    out = np.empty((*x.shape[:2], *size), x.dtype)
    places = np.empty(out.shape, np.int64)
    for at in np.ndindex(*x.shape[:2]):
        sample = [float(v) for v in samples[at]]
        starts = [_starts(*one) for one in zip(sample, x.shape[2:], size, window)]
        for spot in np.ndindex(*size):
            begin = [int(start[i]) for start, i in zip(starts, spot)]
            part = x[at][tuple(slice(b, b + w) for b, w in zip(begin, window))]
            inner = np.unravel_index(np.argmax(part), part.shape)
            out[at][spot] = part[inner]
            places[at][spot] = np.ravel_multi_index([b + i for b, i in zip(begin, inner)], x.shape[2:])
    return _channels_back(out, attributes), _channels_back(places, attributes)


@operator("FractionalMaxPool3DGradWithFixedKsize")
def fractional_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x, grad, places = (_channels_second(one, attributes) for one in inputs[:3])
    return _channels_back(_sent_back(x, grad, places, 3), attributes)


@operator("AdaptiveMaxPool2dGrad")
def adaptive_max_backward(grad: Any, x: Any, places: Any) -> Any:
    return _sent_back(x, grad, places, 2)


def _sent_back(x: Any, grad: Any, places: Any, spatial: int) -> Any:
    """Gradients at the places of what was chosen; the places count within a channel, over its `spatial` last axes."""
    rows = int(np.prod(x.shape[: x.ndim - spatial]))
    out = np.zeros((rows, x.size // max(rows, 1)), grad.dtype)
    np.add.at(out, (np.arange(rows)[:, None], places.reshape(rows, -1)), grad.reshape(rows, -1))
    return out.reshape(x.shape)


def _shares(size: int, count: int) -> Any:
    """How much each value along an axis counts for each result of adaptive average pooling."""
    out = np.zeros((count, size))
    for at in range(count):
        begin, end = at * size // count, -(-(at + 1) * size // count)
        out[at, begin:end] = 1 / (end - begin)
    return out


@operator("AdaptiveAvgPool3d")
def adaptive_average(found: Any, outputs: Any) -> Any:
    for axis in (-3, -2, -1):
        share = _shares(found.shape[axis], outputs[0].shape[axis])
        found = np.moveaxis(np.tensordot(found, share, ([axis], [1])), -1, axis)
    return found


@operator("AdaptiveAvgPool3dGrad")
def adaptive_average_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    found = inputs[0]
    for axis in (-3, -2, -1):
        share = _shares(outputs[0].shape[axis], inputs[0].shape[axis])
        found = np.moveaxis(np.tensordot(found, share, ([axis], [0])), -1, axis)
    return found
