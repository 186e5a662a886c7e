"""Convolution of any number of axes: patches as rows of a matrix, and back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .registry import operator


class Window(NamedTuple):
    step: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]  # padding before and behind each axis
    gap: tuple[int, ...]
    groups: int


def _patches(x: Any, size: Any, w: Window) -> Any:
    """(batch, channels, places, taps), for any number of axes; a view of the padded input."""
    padded = np.pad(x, [(0, 0), (0, 0), *w.edges])
    reach = [(k - 1) * g + 1 for k, g in zip(size, w.gap)]
    axes = tuple(range(2, x.ndim))
    windows = np.lib.stride_tricks.sliding_window_view(padded, reach, axis=axes)
    places = tuple(slice(None, None, one) for one in w.step)
    taps = tuple(slice(None, None, one) for one in w.gap)
    return windows[(slice(None), slice(None), *places, *taps)]


def convolve(x: Any, weight: Any, bias: Any, w: Window) -> Any:
    count = x.ndim - 2
    patches = _patches(x, weight.shape[2:], w)
    parts = []
    for group in range(w.groups):
        inside = slice(group * weight.shape[1], (group + 1) * weight.shape[1])
        filters = weight[group * weight.shape[0] // w.groups : (group + 1) * weight.shape[0] // w.groups]
        inner = [1, *range(2 + count, 2 + 2 * count)]
        parts.append(np.tensordot(patches[:, inside], filters, (inner, [1, *range(2, 2 + count)])))
    out = np.moveaxis(np.concatenate(parts, -1), -1, 1)
    return out if bias is None else out + bias.reshape(1, -1, *[1] * count)


def weight_gradient(grad: Any, x: Any, shape: Any, w: Window) -> Any:
    count = x.ndim - 2
    patches = _patches(x, shape[2:], w)
    places = tuple(slice(0, one) for one in grad.shape[2:])
    patches = patches[(slice(None), slice(None), *places)]
    axes = [0, *range(2, 2 + count)]
    parts = []
    for group in range(w.groups):
        inside = slice(group * shape[1], (group + 1) * shape[1])
        filters = slice(group * shape[0] // w.groups, (group + 1) * shape[0] // w.groups)
        parts.append(np.tensordot(grad[:, filters], patches[:, inside], (axes, axes)))
    return np.concatenate(parts, 0)


def input_gradient(grad: Any, weight: Any, shape: Any, w: Window) -> Any:
    """Every tap of the filters adds its share to the places that it saw."""
    out = np.zeros([*shape[:2], *(n + a + b for n, (a, b) in zip(shape[2:], w.edges))], np.float32)
    for group in range(w.groups):
        inside = slice(group * weight.shape[1], (group + 1) * weight.shape[1])
        filters = slice(group * weight.shape[0] // w.groups, (group + 1) * weight.shape[0] // w.groups)
        for tap in np.ndindex(*weight.shape[2:]):
            share = np.moveaxis(np.tensordot(grad[:, filters], weight[(filters, slice(None), *tap)], (1, 0)), -1, 1)
            seen = tuple(
                slice(t * g, t * g + (n - 1) * s + 1, s) for t, g, n, s in zip(tap, w.gap, grad.shape[2:], w.step)
            )
            out[(slice(None), inside, *seen)] += share
    return out[(slice(None), slice(None), *(slice(a, a + n) for (a, _), n in zip(w.edges, shape[2:])))]


def _window(weight: Any, step: Any, padding: Any, gap: Any, groups: int) -> Window:
    count = weight.ndim - 2

    def spread(values: Any) -> tuple[int, ...]:
        return tuple(values) * count if len(values) == 1 else tuple(values)

    return Window(spread(step), tuple((one, one) for one in spread(padding)), spread(gap), groups)


@operator("aclnnConvolution")
def convolution(
    x: Any, weight: Any, bias: Any, step: Any, padding: Any, gap: Any, turned: int, output_padding: Any, groups: int,
    math_type: int = 0,
) -> Any:  # fmt: skip
    w = _window(weight, step, padding, gap, groups)
    if not turned:
        return convolve(x, weight, bias, w)
    shape = [x.shape[0], weight.shape[1] * groups]
    for at, size in enumerate(x.shape[2:]):
        reach = (weight.shape[2 + at] - 1) * w.gap[at] + 1
        shape.append((size - 1) * w.step[at] - sum(w.edges[at]) + reach + (output_padding[at] if output_padding else 0))
    out = input_gradient(x, weight, shape, w)
    return out if bias is None else out + bias.reshape(1, -1, *[1] * (x.ndim - 2))


@operator("aclnnConvolutionBackward")
def convolution_backward(
    grad: Any, x: Any, weight: Any, step: Any, padding: Any, gap: Any, turned: int, groups: int, mask: Any,
    bias_sizes: Any = (), output_padding: Any = (), math_type: int = 0,
) -> Any:  # fmt: skip
    w = _window(weight, step, padding, gap, groups)
    small, large = (x, grad) if turned else (grad, x)
    to_x = None
    if mask[0]:
        to_x = convolve(grad, weight, None, w) if turned else input_gradient(grad, weight, x.shape, w)
        to_x = to_x[tuple(slice(0, one) for one in x.shape)]
    return (
        to_x,
        weight_gradient(small, large, weight.shape, w) if mask[1] else None,
        grad.sum((0, *range(2, grad.ndim))) if mask[2] else None,
    )


def _of(attributes: dict[str, Any], volume: bool = True) -> Window:
    """Attributes of the older interface: five numbers in NCDHW, or in NDHWC."""
    last = attributes.get("data_format") == "NDHWC"
    step, gap = ([int(v) for v in attributes[name]] for name in ("strides", "dilations"))
    pads = [int(v) for v in attributes["pads"]]
    part = slice(1, 4) if last else slice(2, 5)
    edges = tuple((pads[2 * at], pads[2 * at + 1]) for at in range(3))
    return Window(tuple(step[part]), edges, tuple(gap[part]), int(attributes.get("groups", 1)))


@operator("Conv3D")
def conv_3d(inputs: Any, attributes: Any, outputs: Any) -> Any:
    bias = inputs[2] if len(inputs) > 2 else None
    return convolve(inputs[0], inputs[1], bias, _of(attributes))


@operator("Conv3DBackpropInput", "Conv3DBackpropInputD")
def conv_3d_input(inputs: Any, attributes: Any, outputs: Any) -> Any:
    weight, grad = _volumes(inputs)
    return input_gradient(grad, weight, outputs[0].shape, _of(attributes))


@operator("Conv3DTranspose", "Conv3DTransposeD")
def conv_3d_transpose(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x, weight = _volumes(inputs)
    return input_gradient(x, weight, outputs[0].shape, _of(attributes))


def _volumes(inputs: Any) -> tuple[Any, Any]:
    """The first two tensors, without the size that the forms without a `D` have in front of them."""
    first, second = [one for one in inputs if one is not None and one.ndim == 5][:2]
    return first, second


@operator("Conv3DBackpropFilter", "Conv3DBackpropFilterD")
def conv_3d_filter(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x, grad = (one for one in inputs if one is not None and one.ndim == 5)
    return weight_gradient(grad, x, outputs[0].shape, _of(attributes))
