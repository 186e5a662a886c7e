"""Pooling to a size, and of volumes."""

from __future__ import annotations

import itertools
from typing import Any, Iterator

import numpy as np

from .registry import operator


def _bins(size: int, parts: int) -> list[slice]:
    return [slice(part * size // parts, -(-(part + 1) * size // parts)) for part in range(parts)]


def _cells(shape: Any, sizes: Any) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
    """The place of each result, and the part of the input that it is made of."""
    bins = [_bins(size, parts) for size, parts in zip(shape, sizes)]
    for place in itertools.product(*(range(len(one)) for one in bins)):
        yield place, tuple(one[at] for one, at in zip(bins, place))


@operator("aclnnAdaptiveMaxPool2d", "aclnnAdaptiveMaxPool3d")
def adaptive_max(x: Any, sizes: Any) -> Any:
    count = len(sizes)
    space = x.shape[-count:]
    out = np.empty((*x.shape[:-count], *sizes), x.dtype)
    places = np.empty(out.shape, np.int64)
    numbers = np.arange(int(np.prod(space))).reshape(space)
    for at, part in _cells(space, sizes):
        rows = x[(..., *part)].reshape(*x.shape[:-count], -1)
        best = rows.argmax(-1)
        out[(..., *at)] = np.take_along_axis(rows, best[..., None], -1)[..., 0]
        places[(..., *at)] = numbers[part].reshape(-1)[best]
    return out, places


@operator("aclnnAdaptiveMaxPool2dBackward", "aclnnAdaptiveMaxPool3dBackward")
def adaptive_max_backward(grad: Any, x: Any, places: Any) -> Any:
    lead = x.ndim - (3 if x.ndim == 5 else 2)
    rows = int(np.prod(x.shape[:lead]))
    out = np.zeros((rows, int(np.prod(x.shape[lead:]))), grad.dtype)
    np.add.at(out, (np.arange(rows)[:, None], places.reshape(rows, -1)), grad.reshape(rows, -1))
    return out.reshape(x.shape)


@operator("aclnnAdaptiveAvgPool3d")
def adaptive_average(x: Any, sizes: Any) -> Any:
    out = np.empty((*x.shape[:-3], *sizes), x.dtype)
    for at, part in _cells(x.shape[-3:], sizes):
        out[(..., *at)] = x[(..., *part)].mean((-3, -2, -1))
    return out


@operator("aclnnAdaptiveAvgPool3dBackward")
def adaptive_average_backward(grad: Any, x: Any) -> Any:
    out = np.zeros(x.shape, np.float32)
    for at, part in _cells(x.shape[-3:], grad.shape[-3:]):
        cell = out[(..., *part)]
        cell += (grad[(..., *at)] / np.prod(cell.shape[-3:]))[..., None, None, None]
    return out


def _average_windows(x: Any, out: Any, size: Any, step: Any, padding: Any, count_padding: int, fixed: int) -> Any:
    """The part of the input, the place of the result, and the divisor, for each window."""
    step = step or size
    for place in itertools.product(*(range(one) for one in out)):
        starts = [at * s - p for at, s, p in zip(place, step, padding)]
        padded = [min(a + k, n + p) for a, k, n, p in zip(starts, size, x, padding)]
        part = tuple(slice(max(a, 0), min(b, n)) for a, b, n in zip(starts, padded, x))
        whole = np.prod([b - a for a, b in zip(starts, padded)])
        seen = np.prod([max(one.stop - one.start, 0) for one in part])
        yield place, part, fixed or (whole if count_padding else seen)


def _pooled(size: int, window: int, step: int, padding: int, up: int) -> int:
    out = -(-(size + 2 * padding - window) // step) + 1 if up else (size + 2 * padding - window) // step + 1
    return out - 1 if up and (out - 1) * step >= size + padding else out


@operator("aclnnAvgPool3d")
def average(x: Any, size: Any, step: Any, padding: Any, up: int, count_padding: int, fixed: int) -> Any:
    size, step, padding = (_three(one) for one in (size, step or size, padding))
    sizes = [_pooled(*one, up) for one in zip(x.shape[-3:], size, step, padding)]
    out = np.empty((*x.shape[:-3], *sizes), np.float32)
    for at, part, many in _average_windows(x.shape[-3:], sizes, size, step, padding, count_padding, fixed):
        out[(..., *at)] = x[(..., *part)].sum((-3, -2, -1)) / many
    return out


@operator("aclnnAvgPool3dBackward")
def average_backward(
    grad: Any, x: Any, size: Any, step: Any, padding: Any, up: int, count_padding: int, fixed: int
) -> Any:
    size, step, padding = (_three(one) for one in (size, step or size, padding))
    out = np.zeros(x.shape, np.float32)
    windows = _average_windows(x.shape[-3:], grad.shape[-3:], size, step, padding, count_padding, fixed)
    for at, part, many in windows:
        out[(..., *part)] += (grad[(..., *at)] / many)[..., None, None, None]
    return out


def _three(values: Any) -> Any:
    return tuple(values) * 3 if len(values) == 1 else tuple(values)


@operator("aclnnMaxUnpool2d")
def unpool(x: Any, places: Any, sizes: Any) -> Any:
    out = np.zeros((*x.shape[:-2], int(np.prod(sizes[-2:]))), x.dtype)
    np.put_along_axis(out, places.reshape(*x.shape[:-2], -1), x.reshape(*x.shape[:-2], -1), -1)
    return out.reshape(*x.shape[:-2], *sizes[-2:])


def _edges(attributes: Any, space: Any, size: Any, step: Any) -> list[tuple[int, int]]:
    """Padding before and behind each axis, by the words or the numbers of the older interface."""
    if attributes.get("padding", attributes.get("pad_mode")) in ("SAME", "same"):
        out = []
        for n, k, s in zip(space, size, step):
            more = max((-(-n // s) - 1) * s + k - n, 0)
            out.append((more // 2, more - more // 2))
        return out
    pads = [int(v) for v in attributes.get("pads") or [0] * 6]
    if len(pads) == 3:
        return [(one, one) for one in pads]
    return [(pads[2 * at], pads[2 * at + 1]) for at in range(3)]


def _volume(attributes: Any, x: Any) -> tuple[Any, Any, Any]:
    size, step = ([int(v) for v in attributes[name]] for name in ("ksize", "strides"))
    size, step = size[-3:], step[-3:]
    return size, step, _edges(attributes, x.shape[2:], size, step)


def _windows(x: Any, out: Any, size: Any, step: Any, edges: Any) -> Any:
    for place in itertools.product(*(range(one) for one in out)):
        starts = [at * s - a for at, s, (a, _) in zip(place, step, edges)]
        yield place, tuple(slice(max(a, 0), min(a + k, n)) for a, k, n in zip(starts, size, x))


@operator("MaxPool3D")
def max_volume(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x = inputs[0]
    size, step, edges = _volume(attributes, x)
    out = np.empty(outputs[0].shape, x.dtype)
    for at, part in _windows(x.shape[2:], out.shape[2:], size, step, edges):
        out[(..., *at)] = x[(..., *part)].max((-3, -2, -1))
    return out


@operator("MaxPool3DWithArgmax")
def max_volume_places(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x = inputs[0]
    size, step, edges = _volume(attributes, x)
    out, places = np.empty(outputs[0].shape, x.dtype), np.empty(outputs[0].shape, np.int64)
    numbers = np.arange(int(np.prod(x.shape[2:]))).reshape(x.shape[2:])
    for at, part in _windows(x.shape[2:], out.shape[2:], size, step, edges):
        cell = x[(..., *part)].reshape(*x.shape[:2], -1)
        best = cell.argmax(-1)
        out[(..., *at)] = np.take_along_axis(cell, best[..., None], -1)[..., 0]
        places[(..., *at)] = numbers[part].reshape(-1)[best]
    return out, places


@operator("MaxPool3DGradWithArgmax")
def max_volume_places_backward(x: Any, grad: Any, places: Any) -> Any:
    return adaptive_max_backward(grad, x, places)


@operator("MaxPool3DGrad")
def max_volume_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x, _, grad = inputs[:3]
    size, step, edges = _volume(attributes, x)
    out = np.zeros(x.shape, np.float32)
    for at, part in _windows(x.shape[2:], grad.shape[2:], size, step, edges):
        cell = x[(..., *part)].reshape(*x.shape[:2], -1)
        hot = np.zeros(cell.shape, np.float32)
        np.put_along_axis(hot, cell.argmax(-1)[..., None], grad[(..., *at)][..., None], -1)
        out[(..., *part)] += hot.reshape(x[(..., *part)].shape)
    return out


def _divisor(part: Any, at: Any, x: Any, size: Any, step: Any, edges: Any, attributes: Any) -> float:
    if attributes.get("divisor_override"):
        return float(attributes["divisor_override"])
    if not attributes.get("count_include_pad", 1):
        return float(np.prod([one.stop - one.start for one in part]))
    reach = [min(p * s - a + k, n + b) - (p * s - a) for p, s, k, n, (a, b) in zip(at, step, size, x, edges)]
    return float(np.prod(reach))


@operator("AvgPool3D")
def average_volume(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x = inputs[0]
    size, step, edges = _volume(attributes, x)
    out = np.empty(outputs[0].shape, np.float32)
    for at, part in _windows(x.shape[2:], out.shape[2:], size, step, edges):
        many = _divisor(part, at, x.shape[2:], size, step, edges, attributes)
        out[(..., *at)] = x[(..., *part)].sum((-3, -2, -1)) / many
    return out


@operator("AvgPool3DGrad", "AvgPool3DGradD")
def average_volume_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    grad = inputs[-1]
    out = np.zeros(outputs[0].shape, np.float32)
    size, step, edges = _volume(attributes, out)
    for at, part in _windows(out.shape[2:], grad.shape[2:], size, step, edges):
        share = grad[(..., *at)] / _divisor(part, at, out.shape[2:], size, step, edges, attributes)
        out[(..., *part)] += share[..., None, None, None]
    return out
