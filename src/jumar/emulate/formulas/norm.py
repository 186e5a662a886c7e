"""Normalisation: RMS, layer, group and batch norms, forward and backward.

RMS norm (arXiv 1910.07467) and layer norm (1607.06450) go over the last axes, those of `gamma`; the axis of channels is
the second one for group norm (1803.08494) and batch norm (1502.03167), whose statistics may come from several cards.
"""

from __future__ import annotations

from .namespace import A, namespace


def rms_norm(x: A, gamma: A, epsilon: float) -> tuple[A, A]:
    """The normalised array, and the reciprocal root mean square."""
    xp = namespace(x)
    rstd = xp.rsqrt(xp.mean(xp.square(x), _axes(x, gamma), keepdims=True) + epsilon)
    return x * rstd * gamma, rstd


def rms_norm_backward(grad: A, x: A, gamma: A, rstd: A) -> tuple[A, A]:
    """For `x` and for `gamma`."""
    xp = namespace(x)
    normal, scaled = x * rstd, grad * gamma
    to_x = (scaled - normal * xp.mean(scaled * normal, _axes(x, gamma), keepdims=True)) * rstd
    return to_x, _over_rows(grad * normal, gamma)


def layer_norm(x: A, gamma: A, beta: A, epsilon: float) -> tuple[A, A, A]:
    """The normalised array, the mean, and the reciprocal standard deviation."""
    xp = namespace(x)
    axes = _axes(x, gamma)
    mean = xp.mean(x, axes, keepdims=True)
    rstd = xp.rsqrt(xp.mean(xp.square(x - mean), axes, keepdims=True) + epsilon)
    return (x - mean) * rstd * gamma + beta, mean, rstd


def layer_norm_backward(grad: A, x: A, gamma: A, mean: A, rstd: A) -> tuple[A, A, A]:
    """For `x`, `gamma` and `beta`."""
    xp = namespace(x)
    axes = _axes(x, gamma)
    normal, scaled = (x - mean) * rstd, grad * gamma
    to_x = scaled - xp.mean(scaled, axes, keepdims=True) - normal * xp.mean(scaled * normal, axes, keepdims=True)
    return to_x * rstd, _over_rows(grad * normal, gamma), _over_rows(grad, gamma)


def _axes(x: A, gamma: A) -> tuple[int, ...]:
    return tuple(range(x.ndim - gamma.ndim, x.ndim))


def _over_rows(x: A, gamma: A) -> A:
    xp = namespace(x)
    return xp.sum(xp.reshape(x, (-1, *gamma.shape)), 0)


def group_norm(x: A, groups: int, gamma: A | None, beta: A | None, epsilon: float) -> tuple[A, A, A]:
    """The normalised array, and of each group (batch, groups) the mean and the reciprocal standard deviation."""
    xp = namespace(x)
    parts = xp.reshape(x, (x.shape[0], groups, -1))
    mean, rstd = xp.mean(parts, -1), xp.rsqrt(xp.var(parts, -1) + epsilon)
    normal = xp.reshape((parts - mean[..., None]) * rstd[..., None], x.shape)
    normal = normal if gamma is None else normal * by_channel(gamma, x)
    return normal if beta is None else normal + by_channel(beta, x), mean, rstd


def by_channel(values: A, like: A) -> A:
    """A value for each channel, so that it spreads over an array of images."""
    return namespace(values).reshape(values, (1, -1, *[1] * (like.ndim - 2)))


def batch_statistics(x: A, epsilon: float) -> tuple[A, A]:
    """The mean of each channel, and its reciprocal standard deviation."""
    xp = namespace(x)
    return xp.mean(x, _all_but_channels(x)), xp.rsqrt(xp.var(x, _all_but_channels(x)) + epsilon)


def batch_norm(x: A, gamma: A | None, beta: A | None, mean: A, rstd: A) -> A:
    """With statistics that are known."""
    out = (x - by_channel(mean, x)) * by_channel(rstd, x)
    out = out if gamma is None else out * by_channel(gamma, x)
    return out if beta is None else out + by_channel(beta, x)


def gathered_statistics(means: A, rstds: A, counts: A, epsilon: float) -> tuple[A, A, A]:
    """Mean and variance of all cards, from those of each (a row for each) and its number of values; and their sum."""
    xp = namespace(means)
    weights = xp.reshape(counts, (-1, 1))
    total = xp.sum(weights)
    mean = xp.sum(means * weights, 0) / total
    variance = xp.sum((rstds**-2 - epsilon + xp.square(means - mean)) * weights, 0) / total
    return mean, variance, total


def running_statistics(running: A, new: A, momentum: float) -> A:
    """An average over the batches so far; variances are unbiased in it: `variance * total / (total - 1)`."""
    return namespace(new).add_scaled(running * (1 - momentum), new, momentum)


def batch_norm_sums(grad: A, x: A, mean: A) -> tuple[A, A]:
    """Sums over a card that the gradient of batch norm needs: of the gradient, and of its product with `x - mean`."""
    xp = namespace(x)
    axes = _all_but_channels(x)
    return xp.sum(grad, axes), xp.sum(grad * (x - by_channel(mean, x)), axes)


def batch_norm_backward(
    grad: A, x: A, mean: A, rstd: A, gamma: A | None, total_grad: A, total_product: A, count: A
) -> A:
    """For `x`, with the sums of all cards and their number of values."""
    scale = rstd if gamma is None else rstd * gamma
    projected = (x - by_channel(mean, x)) * by_channel(rstd * rstd * total_product / count, x)
    return (grad - by_channel(total_grad / count, x) - projected) * by_channel(scale, x)


def _all_but_channels(x: A) -> tuple[int, ...]:
    return tuple(axis for axis in range(x.ndim) if axis != 1)
