"""Losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .registry import operator


def _reduced(value: Any, attributes: Any) -> Any:
    how = attributes.get("reduction", "mean")
    return value if how == "none" else value.mean() if how == "mean" else value.sum()


def _share(grad: Any, size: int, attributes: Any) -> Any:
    return grad / size if attributes.get("reduction", "mean") == "mean" else grad


@operator("BinaryCrossEntropy")
def binary(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x, target, weight = inputs[0], inputs[1], inputs.get(2)
    value = -(target * np.maximum(np.log(x), -100) + (1 - target) * np.maximum(np.log(1 - x), -100))
    return _reduced(value if weight is None else value * weight, attributes)


@operator("BinaryCrossEntropyGrad")
def binary_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x, target, grad, weight = inputs[0], inputs[1], inputs[2], inputs.get(3)
    slope = (x - target) / np.maximum(x * (1 - x), 1e-12)
    return _share(grad, x.size, attributes) * (slope if weight is None else slope * weight)


@operator("SmoothL1LossV2")
def smooth(inputs: Any, attributes: Any, outputs: Any) -> Any:
    sigma = attributes.get("sigma", 1.0)
    far = np.abs(inputs[0] - inputs[1])
    return _reduced(np.where(far < sigma, 0.5 * far * far / sigma, far - 0.5 * sigma), attributes)


@operator("SmoothL1LossGradV2")
def smooth_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    sigma = attributes.get("sigma", 1.0)
    x, target, grad = inputs[:3]
    far = x - target
    return _share(grad, x.size, attributes) * np.clip(far / sigma, -1, 1)


@operator("SmoothL1Loss")
def smooth_each(inputs: Any, attributes: Any, outputs: Any) -> Any:
    sigma = attributes.get("sigma", 1.0)
    far = np.abs(inputs[0] - inputs[1])
    return np.where(far < sigma, 0.5 * far * far / sigma, far - 0.5 * sigma)


@operator("SmoothL1LossGrad")
def smooth_each_backward(x: Any, target: Any, grad: Any, *, sigma: float = 1.0) -> Any:
    return grad * np.clip((x - target) / sigma, -1, 1)


@operator("SoftMarginLoss")
def soft_margin(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return _reduced(np.logaddexp(0, -inputs[1] * inputs[0]), attributes)


@operator("SoftMarginLossGrad")
def soft_margin_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x, target, grad = inputs[:3]
    return _share(grad, x.size, attributes) * -target * special.expit(-target * x)


@operator("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax(logits: Any, classes: Any) -> Any:
    x, labels = logits, classes.astype(np.int64)
    logs = x - special.logsumexp(x, axis=-1, keepdims=True)
    slope = np.exp(logs)
    np.put_along_axis(slope, labels[:, None], np.take_along_axis(slope, labels[:, None], -1) - 1, -1)
    return -np.take_along_axis(logs, labels[:, None], -1)[:, 0], slope


@operator("MultilabelMarginLoss")
def multilabel(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x, target = np.atleast_2d(inputs[0]), np.atleast_2d(inputs[1])
    is_target = np.zeros(x.shape, inputs[1].dtype)
    value = np.zeros(x.shape[0], np.float32)
    for row in range(x.shape[0]):
        ends = np.nonzero(target[row] < 0)[0]
        labels = target[row][: ends[0] if len(ends) else None]
        is_target[row, labels] = 1
        others = np.delete(x[row], np.unique(labels))
        value[row] = np.maximum(0, 1 - (x[row][labels][:, None] - others)).sum() / x.shape[1]
    return _reduced(value, attributes), is_target.reshape(inputs[1].shape)


@operator("MultilabelMarginLossGrad")
def multilabel_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    grad, x, target, is_target = inputs[0], *(np.atleast_2d(one) for one in inputs[1:4])
    count, classes = x.shape
    out = np.zeros(x.shape)
    for row in range(count):
        ends = np.nonzero(target[row] < 0)[0]
        for label in target[row][: ends[0] if len(ends) else None]:
            near = (1 - x[row, label] + x[row] > 0) & (is_target[row] == 0)
            out[row] += near
            out[row, label] -= near.sum()
    share = np.reshape(grad, (-1, 1)) / classes
    share = share / count if attributes.get("reduction", "mean") == "mean" else share
    return (out * share).reshape(np.shape(inputs[1]))


@operator("KlDivLossGrad")
def divergence_backward(grad: Any, x: Any, target: Any, *, reduction: str = "mean", log_target: bool = False) -> Any:
    how = reduction
    slope = -np.exp(target) if log_target else -np.maximum(target, 0)
    return grad * slope / {"mean": x.size, "batchmean": x.shape[0] if x.ndim else 1}.get(how, 1)


@operator("MultiMarginLoss")
def margins(inputs: Any, attributes: Any, outputs: Any) -> Any:
    value, _slope = _margins(inputs[0], inputs[1], inputs.get(2), attributes)
    return _reduced(value, attributes)


@operator("MultiMarginLossGrad")
def margins_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    grad, x, target, weight = inputs[0], inputs[1], inputs[2], inputs.get(3)
    _value, slope = _margins(x, target, weight, attributes)
    return _share(grad if np.size(grad) == 1 else grad[:, None], len(x), attributes) * slope


def _margins(x: Any, target: Any, weight: Any, attributes: Any) -> Any:
    """The loss of each row, and its slope: what other classes are too near to the true one, to a power."""
    rows, power, margin = np.arange(len(x)), int(attributes.get("p", 1)), attributes.get("margin", 1.0)
    near = np.maximum(margin - x[rows, target][:, None] + x, 0)
    near[rows, target] = 0
    factor = (np.ones(len(x)) if weight is None else weight[target])[:, None] / x.shape[1]
    slope = factor * power * near ** (power - 1) * (near > 0)
    slope[rows, target] = -slope.sum(1)
    return (factor * near**power).sum(1), slope
