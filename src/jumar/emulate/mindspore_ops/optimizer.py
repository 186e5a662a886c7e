"""Updates of parameters: what is changed is an input and the output."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ..formulas import optimizer as formulas
from .registry import operator


def number(x: Any) -> float:
    """Rates and the like come as tensors, or as attributes in the forms whose names end in D."""
    return float(np.reshape(x, -1)[0])


@operator("aclnnApplyAdamWV2")
def adam(
    weight: Any, mean: Any, square: Any, largest: Any, grad: Any, step: Any,
    rate: float, beta1: float, beta2: float, decay: float, epsilon: float, amsgrad: int, maximize: int,
) -> Any:  # fmt: skip
    """Adam with decoupled decay. `step` counts from 0."""
    count = number(step) + 1
    return formulas.adam_w(
        weight, mean, square, largest if amsgrad else None, grad, rate=rate, beta=formulas.Decays(beta1, beta2),
        power=formulas.Decays(beta1**count, beta2**count), decay=decay, epsilon=epsilon, maximize=bool(maximize),
    )  # fmt: skip


@operator("ApplyGradientDescent")
def descent(var: Any, rate: Any, grad: Any) -> Any:
    return var - number(rate) * grad


@operator("ApplyAdagrad", "ApplyAdagradD", "ApplyAdagradV2", "ApplyAdagradV2D")
def adagrad(var: Any, total: Any, numbers: Any, grad: Any, *, epsilon: float = 0.0, update_slots: bool = True) -> Any:
    """`numbers`: the rate, and the epsilon where it is not an attribute."""
    rate, *others = (number(one) for one in numbers)
    total = total + grad * grad if update_slots else total
    return var - rate * grad / (np.sqrt(total) + (epsilon or sum(others))), total


@operator("ApplyAdadelta", "ApplyAdadeltaD")
def adadelta(var: Any, squares: Any, updates: Any, rate: Any, rho: Any, epsilon: Any, grad: Any) -> Any:
    rate, rho, epsilon = number(rate), number(rho), number(epsilon)
    squares = rho * squares + (1 - rho) * grad * grad
    step = np.sqrt(updates + epsilon) / np.sqrt(squares + epsilon) * grad
    return var - rate * step, squares, rho * updates + (1 - rho) * step * step


@operator("ApplyAdaMax", "ApplyAdaMaxD")
def adamax(
    var: Any, mean: Any, largest: Any, power: Any, rate: Any, beta1: Any, beta2: Any, epsilon: Any, grad: Any
) -> Any:
    beta1, beta2 = number(beta1), number(beta2)
    mean = beta1 * mean + (1 - beta1) * grad
    largest = np.maximum(beta2 * largest, np.abs(grad))
    return var - number(rate) / (1 - number(power)) * mean / (largest + number(epsilon)), mean, largest


@operator("ApplyRMSProp", "ApplyRMSPropD")
def rmsprop(var: Any, squares: Any, moved: Any, rate: Any, grad: Any, rho: Any, momentum: Any, epsilon: Any) -> Any:
    rho = number(rho)
    squares = rho * squares + (1 - rho) * grad * grad
    moved = number(momentum) * moved + number(rate) * grad / np.sqrt(squares + number(epsilon))
    return var - moved, squares, moved


@operator("ApplyCenteredRMSProp", "ApplyCenteredRMSPropD")
def rmsprop_centered(
    var: Any, mean: Any, squares: Any, moved: Any, rate: Any, rho: Any, momentum: Any, epsilon: Any, grad: Any
) -> Any:
    rho = number(rho)
    mean = rho * mean + (1 - rho) * grad
    squares = rho * squares + (1 - rho) * grad * grad
    spread = squares - mean * mean + number(epsilon)
    moved = number(momentum) * moved + number(rate) * grad / np.sqrt(spread)
    return var - moved, mean, squares, moved


@operator("ApplyKerasMomentum", "ApplyKerasMomentumD")
def keras_momentum(var: Any, moved: Any, rate: Any, grad: Any, momentum: Any, *, use_nesterov: bool = False) -> Any:
    rate, momentum = number(rate), number(momentum)
    moved = moved * momentum - rate * grad
    return var + (moved * momentum - rate * grad if use_nesterov else moved), moved


@operator("ApplyAdamWithAmsgrad", "ApplyAdamWithAmsgradD", "ApplyAdamWithAmsgradV2")
def amsgrad(
    var: Any, mean: Any, squares: Any, largest: Any, power1: Any, power2: Any, rate: Any, grad: Any,
    beta1: Any, beta2: Any, epsilon: Any,
) -> Any:  # fmt: skip
    step = number(rate) * np.sqrt(1 - number(power2)) / (1 - number(power1))
    mean, squares = formulas.moments(mean, squares, grad, formulas.Decays(number(beta1), number(beta2)))
    largest = np.maximum(largest, squares)
    return var - step * mean / (np.sqrt(largest) + number(epsilon)), mean, squares, largest


def _sign_update(var: Any, mean: Any, rate: Any, beta: Any, grad: Any, factor: Callable[[Any], Any]) -> Any:
    beta = number(beta)
    mean = beta * mean + (1 - beta) * grad
    return var - number(rate) * factor(np.sign(grad) * np.sign(mean)) * grad, mean


@operator("ApplyAddSign", "ApplyAddSignD")
def add_sign(var: Any, mean: Any, rate: Any, alpha: Any, decay: Any, beta: Any, grad: Any) -> Any:
    base, slope = number(alpha), number(decay)
    return _sign_update(var, mean, rate, beta, grad, lambda same: base + slope * same)


@operator("ApplyPowerSign", "ApplyPowerSignD")
def power_sign(var: Any, mean: Any, rate: Any, logbase: Any, decay: Any, beta: Any, grad: Any) -> Any:
    slope = number(logbase) * number(decay)
    return _sign_update(var, mean, rate, beta, grad, lambda same: np.exp(slope * same))


def shrunk(x: Any, rate: Any, l1: float, l2: float) -> Any:
    """The step towards zero of proximal methods."""
    return np.sign(x) * np.maximum(np.abs(x) - rate * l1, 0) / (1 + rate * l2)


@operator("ApplyProximalGradientDescent")
def proximal(var: Any, rate: Any, l1: Any, l2: Any, grad: Any) -> Any:
    return shrunk(var - number(rate) * grad, number(rate), number(l1), number(l2))


@operator("ApplyProximalAdagrad", "ApplyProximalAdagradD")
def proximal_adagrad(var: Any, total: Any, rate: Any, l1: Any, l2: Any, grad: Any) -> Any:
    total = total + grad**2
    steps = number(rate) / np.sqrt(total)
    return shrunk(var - steps * grad, steps, number(l1), number(l2)), total


def ftrl_step(
    var: Any, total: Any, linear: Any, grad: Any, lr: Any, l1: Any, l2: Any, lr_power: Any, l2_shrinkage: Any = 0.0
) -> Any:
    """With shrinkage, the gradient of the linear part also has that of the weights' square."""
    rate, power = number(lr), number(lr_power)
    new = total + grad * grad
    linear = linear + grad + 2 * number(l2_shrinkage) * var - (new**-power - total**-power) / rate * var
    slope = new**-power / rate + 2 * number(l2)
    found = (np.sign(linear) * number(l1) - linear) / slope
    return np.where(np.abs(linear) > number(l1), found, 0), new, linear


operator("ApplyFtrl", "ApplyFtrlD", "ApplyFtrlV2", "ApplyFtrlV2D")(ftrl_step)


@operator("LarsV2Update")
def layer_wise(
    weight: Any, grad: Any, weight_squares: Any, grad_squares: Any, decay: Any, rate: Any, *,
    hyperpara: float = 0.001, epsilon: float = 1e-5, use_clip: bool = False,
) -> Any:  # fmt: skip
    """The gradient scaled by how large the weights are against it (LARS); sums of squares of both are given."""
    weights, grads = np.sqrt(weight_squares), np.sqrt(grad_squares)
    size = hyperpara * weights / (grads + decay * weights + epsilon)
    size = np.where((weights > 0) & (grads > 0), size, 1)
    size = np.clip(size / rate, 0, 1) if use_clip else size
    return (size * (grad + decay * weight)).astype(grad.dtype)


@operator("LambApplyWeightAssign")
def lamb_weight(weight_norm: Any, update_norm: Any, rate: Any, update: Any, var: Any) -> Any:
    """The ratio of the norms of weights and update scales the step."""
    both = (weight_norm > 0) & (update_norm > 0)
    ratio = np.where(both, weight_norm / np.where(update_norm == 0, 1, update_norm), 1)
    return var - ratio * rate * update


@operator("LambApplyOptimizerAssign")
def lamb_update(
    grad: Any, square: Any, mean: Any, var: Any, keep1: Any, take1: Any, keep2: Any, take2: Any, epsilon: Any,
    steps: Any, used: Any, decay: Any,
) -> Any:  # fmt: skip
    """Both moments, and the update."""
    mean = keep1 * mean + take1 * grad
    square = keep2 * square + take2 * grad * grad
    update = mean / (1 - keep1**steps) / (np.sqrt(square / (1 - keep2**steps)) + epsilon)
    return square, mean, update + used * decay * var


@operator("ApplyAdagradDA")
def adagrad_da(var: Any, total: Any, squares: Any, grad: Any, rate: Any, l1: Any, l2: Any, step: Any) -> Any:
    """Dual averaging: the parameter is made of the sums of gradients and of their squares."""
    rate, l1, l2, step = (number(one) for one in (rate, l1, l2, step))
    total, squares = total + grad, squares + grad * grad
    sums = np.sign(total) * np.maximum(np.abs(total) - l1 * step, 0) if l1 > 0 else total
    return -rate * sums / (l2 * step * rate + np.sqrt(squares)), total, squares
