"""Updates of some rows of parameters, which come with a gradient for each of these rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .optimizer import ftrl_step, number, shrunk
from .registry import operator


@operator("SparseApplyFtrl", "SparseApplyFtrlD", "SparseApplyFtrlV2", "SparseApplyFtrlV2D")
def ftrl(
    var: Any, total: Any, linear: Any, grad: Any, rows: Any, lr: Any, l1: Any, l2: Any, lr_power: Any,
    l2_shrinkage: Any = 0.0,
) -> Any:  # fmt: skip
    state = [np.array(one) for one in (var, total, linear)]
    results = ftrl_step(*(one[rows] for one in state), grad, lr, l1, l2, lr_power, l2_shrinkage)
    for one, result in zip(state, results):
        one[rows] = result
    return state


@operator("FusedSparseFtrl")
def ftrl_fused(
    var: Any, total: Any, linear: Any, grad: Any, rows: Any, *, lr: float, l1: float, l2: float, lr_power: float
) -> Any:
    rows, grad = _grouped(rows, grad)
    return ftrl(var, total, linear, grad, rows, lr, l1, l2, lr_power)


def _grouped(rows: Any, grad: Any) -> tuple[Any, Any]:
    """Gradients of the same row added up."""
    places, index = np.unique(rows, return_inverse=True)
    sums = np.zeros((len(places), *grad.shape[1:]), grad.dtype)
    np.add.at(sums, index.reshape(-1), grad)
    return places, sums


@operator("SparseApplyAdagrad", "SparseApplyAdagradD", "SparseApplyAdagradV2", "SparseApplyAdagradV2D")
def adagrad(
    var: Any, total: Any, numbers: Any, grad: Any, rows: Any, *, lr: float = 0.0, epsilon: float = 0.0,
    update_slots: bool = True,
) -> Any:  # fmt: skip
    """`numbers`: the rate and the epsilon where they are not attributes."""
    given = [number(one) for one in numbers]
    rate, epsilon = (given or [lr])[0], given[1] if len(given) > 1 else epsilon
    var, total = np.array(var), np.array(total)
    if update_slots:
        total[rows] += grad * grad
    var[rows] -= rate * grad / (np.sqrt(total[rows]) + epsilon)
    return var, total


@operator("SparseApplyProximalAdagrad", "SparseApplyProximalAdagradD")
def proximal(var: Any, total: Any, rate: Any, l1: Any, l2: Any, grad: Any, rows: Any) -> Any:
    var, total = np.array(var), np.array(total)
    total[rows] += grad * grad
    steps = number(rate) / np.sqrt(total[rows])
    var[rows] = shrunk(var[rows] - steps * grad, steps, number(l1), number(l2))
    return var, total


@operator("FusedSparseProximalAdagrad")
def proximal_fused(var: Any, total: Any, rate: Any, l1: Any, l2: Any, grad: Any, rows: Any) -> Any:
    rows, grad = _grouped(rows, grad)
    return proximal(var, total, rate, l1, l2, grad, rows)


@operator("FusedSparseAdam")
def adam(
    var: Any, mean: Any, squares: Any, power1: Any, power2: Any, rate: Any, beta1: Any, beta2: Any, epsilon: Any,
    grad: Any, rows: Any, *, use_nesterov: bool = False,
) -> Any:  # fmt: skip
    """Every row moves; those without a gradient by what they remember."""
    rows, grad = _grouped(rows, grad)
    beta1, beta2 = number(beta1), number(beta2)
    mean, squares = beta1 * mean, beta2 * squares
    mean[rows] += (1 - beta1) * grad
    squares[rows] += (1 - beta2) * grad * grad
    moved = mean.copy()
    if use_nesterov:
        moved[rows] = beta1 * mean[rows] + (1 - beta1) * grad
    return var - _step(power1, power2, rate) * moved / (np.sqrt(squares) + number(epsilon)), mean, squares


@operator("FusedSparseLazyAdam")
def lazy_adam(
    var: Any, mean: Any, squares: Any, power1: Any, power2: Any, rate: Any, beta1: Any, beta2: Any, epsilon: Any,
    grad: Any, rows: Any, *, use_nesterov: bool = False,
) -> Any:  # fmt: skip
    """Only rows with a gradient are touched."""
    rows, grad = _grouped(rows, grad)
    state = [np.array(one) for one in (var, mean, squares)]
    parts = [one[rows] for one in state]
    numbers = [power1, power2, rate, beta1, beta2, epsilon]
    results = adam(*[*parts, *numbers, grad, np.arange(len(rows))], use_nesterov=use_nesterov)
    for one, result in zip(state, results):
        one[rows] = result
    return state


def _step(power1: Any, power2: Any, rate: Any) -> float:
    return float(number(rate) * np.sqrt(1 - number(power2)) / (1 - number(power1)))
