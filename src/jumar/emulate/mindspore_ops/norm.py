"""Normalization: with an addition before it, and over the batches of several cards."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import kernel, operator


@kernel("aclnnAddRmsNorm")
def add_rms_norm(x: Any, other: Any, weight: Any, epsilon: float) -> Any:
    both = x + other
    axes = tuple(range(-weight.ndim, 0))
    inverse = 1 / np.sqrt((both.astype(np.float32) ** 2).mean(axes, keepdims=True) + epsilon)
    return both * inverse * weight, inverse, both


@kernel("aclnnAddLayerNorm")
def add_layer_norm(x: Any, other: Any, weight: Any, bias: Any, more: Any, epsilon: float, _: int) -> Any:
    both = x + other + (0 if more is None else more)
    mean = both.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt(both.var(-1, keepdims=True) + epsilon)
    return (both - mean) * inverse * weight + bias, mean, inverse, both


@kernel("aclnnAddLayerNormGrad")
def add_layer_norm_backward(grad: Any, x: Any, other: Any, inverse: Any, mean: Any, weight: Any, more: Any) -> Any:
    shape = (*x.shape[:-1], 1)
    normed = (x + other - mean.reshape(shape)) * inverse.reshape(shape)
    slope = grad * weight
    to_x = slope - slope.mean(-1, keepdims=True) - normed * (slope * normed).mean(-1, keepdims=True)
    to_x = to_x * inverse.reshape(shape) + (0 if more is None else more)
    axes = tuple(range(x.ndim - 1))
    return to_x, (grad * normed).sum(axes), grad.sum(axes)


def _axes(x: Any) -> tuple[int, ...]:
    return tuple(axis for axis in range(x.ndim) if axis != 1)


def _channels(x: Any, like: Any) -> Any:
    return x.reshape(1, -1, *[1] * (like.ndim - 2))


@kernel("aclnnBatchNormStats")
def statistics(x: Any, epsilon: float) -> Any:
    return x.mean(_axes(x)), 1 / np.sqrt(x.var(_axes(x)) + epsilon)


@kernel("aclnnBatchNormElemt")
def normalize(x: Any, weight: Any, bias: Any, mean: Any, inverse: Any, _: float) -> Any:
    out = (x - _channels(mean, x)) * _channels(inverse, x)
    out = out if weight is None else out * _channels(weight, x)
    return out if bias is None else out + _channels(bias, x)


@kernel("aclnnBatchNormGatherStatsWithCounts")
def gather_statistics(
    x: Any, means: Any, inverses: Any, running: Any, variance: Any, momentum: float, epsilon: float, counts: Any
) -> Any:
    counts = counts.reshape(-1, 1)
    total = counts.sum()
    mean = (means * counts).sum(0) / total
    spread = ((1 / inverses**2 - epsilon + (means - mean) ** 2) * counts).sum(0) / total
    moved = None if running is None else (1 - momentum) * running + momentum * mean
    wide = None if variance is None else (1 - momentum) * variance + momentum * spread * total / (total - 1)
    return moved, wide, mean, 1 / np.sqrt(spread + epsilon)


@kernel("aclnnBatchNormReduceBackward")
def reduce_backward(
    grad: Any, x: Any, mean: Any, inverse: Any, weight: Any, to_x: int, to_weight: int, to_bias: int
) -> Any:
    total = grad.sum(_axes(x))
    product = (grad * (x - _channels(mean, x))).sum(_axes(x))
    return (
        total if to_x else None,
        product if to_x else None,
        product * inverse if to_weight else None,
        total if to_bias else None,
    )


@kernel("aclnnBatchNormElemtBackward")
def normalize_backward(
    grad: Any, x: Any, mean: Any, inverse: Any, weight: Any, total: Any, product: Any, counts: Any
) -> Any:
    many = counts.sum()
    shift = _channels(total / many, x)
    slope = (x - _channels(mean, x)) * _channels(inverse**2 * product / many, x)
    factor = inverse if weight is None else inverse * weight
    return (grad - shift - slope) * _channels(factor, x)


@operator("LayerNormGradGrad")
def layer_norm_second(inputs: Any, attributes: Any, _: Any) -> Any:
    """The gradient of the gradient; inputs: x, grad, variance, mean, weight, and gradients of its three results."""
    x, grad, variance, mean, weight, to_x, to_weight, to_bias = inputs[:8]
    first, params = (  # inputs behind the tensors, or attributes
        int(np.reshape(attributes.get(name, 1) if len(inputs) <= at else inputs[at], -1)[0])
        for at, name in ((8, "begin_norm_axis"), (9, "begin_params_axis"))
    )
    axes = tuple(range(first % x.ndim, x.ndim))
    rows = tuple(range(params % x.ndim))
    shape = (*x.shape[: axes[0]], *[1] * len(axes))
    inverse = 1 / np.sqrt(variance.reshape(shape).astype(np.float64) + 1e-12)
    unit, inner = (x - mean.reshape(shape)) * inverse, grad * weight

    def projected(one: Any) -> Any:
        along = unit * (one * unit).mean(axes, keepdims=True)
        return inverse * (one - one.mean(axes, keepdims=True) - along)

    size = unit.size // inverse.size
    of_inner, of_given = ((one * unit).sum(axes, keepdims=True) for one in (inner, to_x))
    plain = (to_x * inner).sum(axes, keepdims=True) - of_inner * of_given / size
    plain = plain - to_x.sum(axes, keepdims=True) * inner.sum(axes, keepdims=True) / size
    through = grad * to_weight - inverse / size * (to_x * of_inner + inner * of_given)
    found = projected(through) - plain * inverse * inverse * unit / size
    back = projected(to_x)
    return found, weight * back + to_weight * unit + to_bias, (grad * back).sum(rows)


@operator("BatchNormGradGrad")
def batch_norm_second(inputs: Any, attributes: Any, _: Any) -> Any:
    """The gradient of the gradient: for the input, the gradient given to it, and the scale."""
    last = attributes.get("data_format", "NHWC") == "NHWC"
    x, grad, second = (np.moveaxis(inputs[at], -1, 1) if last else inputs[at] for at in (0, 1, 5))
    axes = _axes(x)
    scale, mean, variance, to_scale, to_bias = (_channels(inputs[at], x) for at in (2, 3, 4, 6, 7))
    inverse = 1 / np.sqrt(variance + attributes.get("epsilon", 1e-4))
    normal = (x - mean) * inverse

    def average(value: Any) -> Any:
        return value.mean(axes, keepdims=True)

    def projected(value: Any) -> Any:
        return value - average(value) - normal * average(value * normal)

    if not attributes.get("is_training", 1):
        to_x = to_scale * inverse * grad
        to_grad = second * inverse * scale + to_scale * normal + to_bias
        scaled = (second * grad * inverse).sum(axes)
    else:
        both, slope, bend = average(grad * second), average(grad * normal), average(second * normal)
        to_x = normal * (average(second) * average(grad) - both + 3 * slope * bend)
        to_x = to_x + bend * (average(grad) - grad) + slope * (average(second) - second)
        to_x = scale * inverse * inverse * to_x + to_scale * inverse * projected(grad)
        to_grad = scale * inverse * projected(second) + to_scale * normal + to_bias
        scaled = (second * inverse * projected(grad)).sum(axes)
    return (np.moveaxis(to_x, 1, -1), np.moveaxis(to_grad, 1, -1), scaled) if last else (to_x, to_grad, scaled)


@operator("Renorm")
def renorm(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Slices no larger than a norm; the device only says by how much each of them is to be scaled."""
    x, axis = inputs[0], int(attributes.get("dim", 0)) % inputs[0].ndim
    power, most = float(attributes.get("p", 2)), float(attributes.get("maxnorm", 0))
    others = tuple(at for at in range(x.ndim) if at != axis)
    size = np.abs(x)
    norm = (
        size.max(others, keepdims=True) if np.isinf(power) else (size**power).sum(others, keepdims=True) ** (1 / power)
    )
    factor = np.where(norm > most, most / (norm + 1e-7), 1)
    return factor if outputs[0].shape == factor.shape else factor * x
