"""Losses and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .registry import NotEmulated, operator

_NONE, _MEAN, _SUM = range(3)


def _reduced(value: Any, how: int) -> Any:
    return value if how == _NONE else value.mean() if how == _MEAN else value.sum()


def _spread(grad: Any, size: int, how: int) -> Any:
    """The gradient of each element of what was reduced."""
    return grad / size if how == _MEAN else grad


@operator("aclnnSoftMarginLoss")
def soft_margin(x: Any, target: Any, how: int) -> Any:
    return _reduced(np.logaddexp(0, -target * x), how)


@operator("aclnnSoftMarginLossBackward")
def soft_margin_backward(grad: Any, x: Any, target: Any, how: int) -> Any:
    return _spread(grad, x.size, how) * -target * special.expit(-target * x)


@operator("aclnnKlDivBackward")
def kl_div_backward(grad: Any, x: Any, target: Any, how: int, of_logarithm: int) -> Any:
    slope = -np.exp(target) if of_logarithm else np.where(target > 0, -target, 0)
    return _spread(grad, x.size, how) * np.broadcast_to(slope, x.shape)


def _picked(x: Any, target: Any, ignored: int) -> tuple[Any, Any]:
    """Which places count, and the class of each."""
    valid = target != ignored
    return valid, np.where(valid, target, 0).astype(np.int64)


@operator("aclnnNLLLoss2d")
def nll_2d(x: Any, target: Any, weight: Any, how: int, ignored: int) -> Any:
    valid, index = _picked(x, target, ignored)
    factor = np.where(valid, weight[index], 0)
    value = -np.take_along_axis(x, index[:, None], 1)[:, 0] * factor
    total = factor.sum()
    if how == _NONE:
        return value, 0
    return value.sum() / total if how == _MEAN else value.sum(), total


@operator("aclnnNLLLoss2dBackward")
def nll_2d_backward(grad: Any, x: Any, target: Any, weight: Any, how: int, ignored: int, total: Any) -> Any:
    valid, index = _picked(x, target, ignored)
    out = np.zeros_like(x)
    slope = np.broadcast_to(-grad / total if how == _MEAN else -grad, target.shape) * np.where(valid, weight[index], 0)
    np.put_along_axis(out, index[:, None], slope[:, None], 1)
    return out


@operator("aclnnCrossEntropyLoss")
def cross_entropy(
    x: Any, target: Any, weight: Any, how: str, ignored: int, smoothing: float, scale: float, with_z: int
) -> Any:
    if scale or with_z:
        raise NotEmulated("the loss of the sum of exponentials (z-loss) is not emulated")
    logs = special.log_softmax(x, -1)
    valid, index = _picked(x, target, ignored)
    factors = np.ones(x.shape[-1], x.dtype) if weight is None else weight
    factor = np.where(valid, factors[index], 0)
    value = -np.take_along_axis(logs, index[:, None], 1)[:, 0] * factor
    smooth = np.where(valid, -(logs * factors).sum(-1), 0)
    total = factor.sum()
    value = (1 - smoothing) * value + smoothing / x.shape[-1] * smooth
    out = value if how == "none" else value.sum() / total if how == "mean" else value.sum()
    return out, logs, None, None  # the last two belong to the z-loss and have no room here


@operator("aclnnCrossEntropyLossGrad")
def cross_entropy_grad(
    grad: Any, logs: Any, target: Any, weight: Any, grad_z: Any, sums: Any, how: str, ignored: int, smoothing: float,
    scale: float,
) -> Any:  # fmt: skip
    valid, index = _picked(logs, target, ignored)
    classes = logs.shape[-1]
    factors = np.ones(classes, logs.dtype) if weight is None else weight
    factor = np.where(valid, factors[index], 0)
    slope = np.broadcast_to(grad / factor.sum() if how == "mean" else grad, target.shape) * valid
    hot = np.eye(classes, dtype=logs.dtype)[index] * factor[:, None] * (1 - smoothing)
    hot = hot + smoothing / classes * factors * valid[:, None]
    return (np.exp(logs) * hot.sum(-1, keepdims=True) - hot) * slope[:, None]
