"""Normalization: with an addition before it, and over the batches of several cards."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..formulas import norm as formulas
from .registry import operator


@operator("aclnnAddRmsNorm")
def add_rms_norm(x: Any, other: Any, weight: Any, epsilon: float) -> Any:
    total = x + other
    out, inverse = formulas.rms_norm(total.astype(np.float32), weight, epsilon)
    return out, inverse, total


@operator("aclnnAddLayerNorm")
def add_layer_norm(x: Any, other: Any, weight: Any, bias: Any, more: Any, epsilon: float, extra: int) -> Any:
    total = x + other + (0 if more is None else more)
    return (*formulas.layer_norm(total, weight, bias, epsilon), total)


@operator("aclnnAddLayerNormGrad")
def add_layer_norm_backward(grad: Any, x: Any, other: Any, inverse: Any, mean: Any, weight: Any, more: Any) -> Any:
    shape = (*x.shape[: x.ndim - weight.ndim], *[1] * weight.ndim)
    statistics = mean.reshape(shape), inverse.reshape(shape)
    to_x, to_weight, to_bias = formulas.layer_norm_backward(grad, x + other, weight, *statistics)
    return to_x + (0 if more is None else more), to_weight, to_bias


operator("aclnnBatchNormStats")(formulas.batch_statistics)


@operator("aclnnBatchNormElemt")
def normalize(x: Any, weight: Any, bias: Any, mean: Any, inverse: Any, epsilon: float) -> Any:
    return formulas.batch_norm(x, weight, bias, mean, inverse)


@operator("aclnnBatchNormGatherStatsWithCounts")
def gather_statistics(
    x: Any, means: Any, inverses: Any, running: Any, variance: Any, momentum: float, epsilon: float, counts: Any
) -> Any:
    mean, spread, total = formulas.gathered_statistics(means, inverses, counts, epsilon)
    unbiased = spread * total / (total - 1)
    return (
        None if running is None else formulas.running_statistics(running, mean, momentum),
        None if variance is None else formulas.running_statistics(variance, unbiased, momentum),
        mean,
        1 / np.sqrt(spread + epsilon),
    )


@operator("aclnnBatchNormReduceBackward")
def reduce_backward(
    grad: Any, x: Any, mean: Any, inverse: Any, weight: Any, for_x: int, for_weight: int, for_bias: int
) -> Any:
    total, product = formulas.batch_norm_sums(grad, x, mean)
    return (
        total if for_x else None,
        product if for_x else None,
        product * inverse if for_weight else None,
        total if for_bias else None,
    )


@operator("aclnnBatchNormElemtBackward")
def normalize_backward(
    grad: Any, x: Any, mean: Any, inverse: Any, weight: Any, total: Any, product: Any, counts: Any
) -> Any:
    return formulas.batch_norm_backward(grad, x, mean, inverse, weight, total, product, counts.sum())


@operator("LayerNormGradGrad")
def layer_norm_second(
    x: Any, grad: Any, variance: Any, mean: Any, weight: Any, to_x: Any, to_weight: Any, to_bias: Any,
    begin_norm_axis: Any = 1, begin_params_axis: Any = 1,
) -> Any:  # fmt: skip
    """The gradient of the gradient, from gradients of its three results."""
    first, params = (int(np.reshape(axis, -1)[0]) for axis in (begin_norm_axis, begin_params_axis))
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
def batch_norm_second(
    x: Any, grad: Any, scale: Any, mean: Any, variance: Any, second: Any, to_scale: Any, to_bias: Any, *,
    data_format: str = "NHWC", epsilon: float = 1e-4, is_training: bool = True,
) -> Any:  # fmt: skip
    """The gradient of the gradient: for the input, the gradient given to it, and the scale."""
    last = data_format == "NHWC"
    x, grad, second = (np.moveaxis(one, -1, 1) if last else one for one in (x, grad, second))
    axes = tuple(axis for axis in range(x.ndim) if axis != 1)
    scale, mean, variance, to_scale, to_bias = (
        formulas.by_channel(one, x) for one in (scale, mean, variance, to_scale, to_bias)
    )
    inverse = 1 / np.sqrt(variance + epsilon)
    normal = (x - mean) * inverse

    def average(value: Any) -> Any:
        return value.mean(axes, keepdims=True)

    def projected(value: Any) -> Any:
        return value - average(value) - normal * average(value * normal)

    if not is_training:
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
def renorm(x: Any, *, p: float = 2.0, dim: int = 0, maxnorm: float = 0.0, outputs: Any) -> Any:
    """Slices no larger than a norm; the device only says by how much each of them is to be scaled."""
    others = tuple(at for at in range(x.ndim) if at != dim % x.ndim)
    size = np.abs(x)
    norm = size.max(others, keepdims=True) if np.isinf(p) else (size**p).sum(others, keepdims=True) ** (1 / p)
    factor = np.where(norm > maxnorm, maxnorm / (norm + 1e-7), 1)
    return factor if outputs[0].shape == factor.shape else factor * x
