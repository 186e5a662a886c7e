"""Updates of parameters by type (operators of the older interface): what is changed is an input and the output."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import operator


def _numbers(inputs: Any, *places: int) -> list[float]:
    return [float(np.reshape(inputs[at], -1)[0]) for at in places]


@operator("ApplyGradientDescent")
def descent(inputs: Any, _: Any, __: Any) -> Any:
    (rate,) = _numbers(inputs, 1)
    return inputs.write(0, inputs[0] - rate * inputs[2])


@operator("ApplyAdagrad", "ApplyAdagradD")
def adagrad(inputs: Any, attributes: Any, _: Any) -> Any:
    (rate,) = _numbers(inputs, 2)
    grad, total = inputs[3], inputs[1]
    if attributes.get("update_slots", 1):
        total = inputs.write(1, total + grad * grad)
    return inputs.write(0, inputs[0] - rate * grad / np.sqrt(total)), total


@operator("ApplyAdagradV2", "ApplyAdagradV2D")
def adagrad_v2(inputs: Any, attributes: Any, _: Any) -> Any:
    (rate,) = _numbers(inputs, 2)
    epsilon, grad = attributes.get("epsilon", 0.0) or (_numbers(inputs, 3)[0] if len(inputs) > 4 else 0.0), inputs[-1]
    total = inputs.write(1, inputs[1] + grad * grad) if attributes.get("update_slots", 1) else inputs[1]
    return inputs.write(0, inputs[0] - rate * grad / (np.sqrt(total) + epsilon)), total


@operator("ApplyAdadelta", "ApplyAdadeltaD")
def adadelta(inputs: Any, _: Any, __: Any) -> Any:
    rate, rho, epsilon = _numbers(inputs, 3, 4, 5)
    grad = inputs[6]
    squares = inputs.write(1, rho * inputs[1] + (1 - rho) * grad * grad)
    step = np.sqrt(inputs[2] + epsilon) / np.sqrt(squares + epsilon) * grad
    updates = inputs.write(2, rho * inputs[2] + (1 - rho) * step * step)
    return inputs.write(0, inputs[0] - rate * step), squares, updates


@operator("ApplyAdaMax", "ApplyAdaMaxD")
def adamax(inputs: Any, _: Any, __: Any) -> Any:
    power, rate, beta1, beta2, epsilon = _numbers(inputs, 3, 4, 5, 6, 7)
    grad = inputs[8]
    mean = inputs.write(1, beta1 * inputs[1] + (1 - beta1) * grad)
    largest = inputs.write(2, np.maximum(beta2 * inputs[2], np.abs(grad)))
    return inputs.write(0, inputs[0] - rate / (1 - power) * mean / (largest + epsilon)), mean, largest


@operator("ApplyRMSProp")
def rmsprop(inputs: Any, attributes: Any, _: Any) -> Any:
    rate, rho, momentum, epsilon = _numbers(inputs, 3, 4, 5, 6)
    grad = inputs[7]
    squares = inputs.write(1, rho * inputs[1] + (1 - rho) * grad * grad)
    moved = inputs.write(2, momentum * inputs[2] + rate * grad / np.sqrt(squares + epsilon))
    return inputs.write(0, inputs[0] - moved), squares, moved


@operator("ApplyRMSPropD")
def rmsprop_fixed(inputs: Any, attributes: Any, _: Any) -> Any:
    rho, momentum, epsilon = (attributes[name] for name in ("rho", "momentum", "epsilon"))
    (rate,), grad = _numbers(inputs, 3), inputs[4]
    squares = inputs.write(1, rho * inputs[1] + (1 - rho) * grad * grad)
    moved = inputs.write(2, momentum * inputs[2] + rate * grad / np.sqrt(squares + epsilon))
    return inputs.write(0, inputs[0] - moved), squares, moved


@operator("ApplyCenteredRMSProp", "ApplyCenteredRMSPropD")
def rmsprop_centered(inputs: Any, _: Any, __: Any) -> Any:
    rate, rho, momentum, epsilon = _numbers(inputs, 4, 5, 6, 7)
    grad = inputs[8]
    mean = inputs.write(1, rho * inputs[1] + (1 - rho) * grad)
    squares = inputs.write(2, rho * inputs[2] + (1 - rho) * grad * grad)
    moved = inputs.write(3, momentum * inputs[3] + rate * grad / np.sqrt(squares - mean * mean + epsilon))
    return inputs.write(0, inputs[0] - moved), mean, squares, moved


@operator("ApplyKerasMomentum", "ApplyKerasMomentumD")
def keras_momentum(inputs: Any, attributes: Any, _: Any) -> Any:
    rate, momentum = _numbers(inputs, 2, 4)
    grad = inputs[3]
    moved = inputs.write(1, inputs[1] * momentum - rate * grad)
    step = moved * momentum - rate * grad if attributes.get("use_nesterov") else moved
    return inputs.write(0, inputs[0] + step), moved


@operator("ApplyAdamWithAmsgrad", "ApplyAdamWithAmsgradD")
def amsgrad(inputs: Any, attributes: Any, _: Any) -> Any:
    power1, power2, rate = _numbers(inputs, 4, 5, 6)
    beta1, beta2, epsilon = (attributes[name] for name in ("beta1", "beta2", "epsilon"))
    return _amsgrad(inputs, power1, power2, rate, beta1, beta2, epsilon, inputs[7])


@operator("ApplyAdamWithAmsgradV2")
def amsgrad_v2(inputs: Any, _: Any, __: Any) -> Any:
    numbers = _numbers(inputs, 4, 5, 6, 7, 8, 9)
    return _amsgrad(inputs, *numbers, inputs[10])


def _amsgrad(
    inputs: Any, power1: float, power2: float, rate: float, beta1: float, beta2: float, epsilon: float, grad: Any
) -> Any:
    step = rate * np.sqrt(1 - power2) / (1 - power1)
    mean = inputs.write(1, beta1 * inputs[1] + (1 - beta1) * grad)
    squares = inputs.write(2, beta2 * inputs[2] + (1 - beta2) * grad * grad)
    largest = inputs.write(3, np.maximum(inputs[3], squares))
    return inputs.write(0, inputs[0] - step * mean / (np.sqrt(largest) + epsilon)), mean, squares, largest


def _sign_update(inputs: Any, factor: Any) -> Any:
    rate, beta = _numbers(inputs, 2, 5)
    grad = inputs[6]
    mean = inputs.write(1, beta * inputs[1] + (1 - beta) * grad)
    return inputs.write(0, inputs[0] - rate * factor(np.sign(grad) * np.sign(mean)) * grad), mean


@operator("ApplyAddSign", "ApplyAddSignD")
def add_sign(inputs: Any, _: Any, __: Any) -> Any:
    alpha, decay = _numbers(inputs, 3, 4)
    return _sign_update(inputs, lambda same: alpha + decay * same)


@operator("ApplyPowerSign", "ApplyPowerSignD")
def power_sign(inputs: Any, _: Any, __: Any) -> Any:
    base, decay = _numbers(inputs, 3, 4)
    return _sign_update(inputs, lambda same: np.exp(base * decay * same))


def _shrunk(x: Any, rate: Any, l1: float, l2: float) -> Any:
    return np.sign(x) * np.maximum(np.abs(x) - rate * l1, 0) / (1 + rate * l2)


@operator("ApplyProximalGradientDescent")
def proximal(inputs: Any, _: Any, __: Any) -> Any:
    rate, l1, l2 = _numbers(inputs, 1, 2, 3)
    return inputs.write(0, _shrunk(inputs[0] - rate * inputs[4], rate, l1, l2))


@operator("ApplyProximalAdagrad", "ApplyProximalAdagradD")
def proximal_adagrad(inputs: Any, _: Any, __: Any) -> Any:
    rate, l1, l2 = _numbers(inputs, 2, 3, 4)
    total = inputs.write(1, inputs[1] + inputs[5] ** 2)
    steps = rate / np.sqrt(total)
    return inputs.write(0, _shrunk(inputs[0] - steps * inputs[5], steps, l1, l2)), total


def _ftrl(var: Any, total: Any, linear: Any, grad: Any, rate: float, l1: float, l2: float, power: float) -> Any:
    new = total + grad * grad
    linear = linear + grad - (new**-power - total**-power) / rate * var
    slope = new**-power / rate + 2 * l2
    return np.where(np.abs(linear) > l1, (np.sign(linear) * l1 - linear) / slope, 0), new, linear


@operator("ApplyFtrl", "ApplyFtrlD")
def ftrl(inputs: Any, _: Any, __: Any) -> Any:
    var, total, linear = _ftrl(inputs[0], inputs[1], inputs[2], inputs[3], *_numbers(inputs, 4, 5, 6, 7))
    return inputs.write(0, var), inputs.write(1, total), inputs.write(2, linear)


@operator("SparseApplyFtrl", "SparseApplyFtrlD")
def sparse_ftrl(inputs: Any, attributes: Any, _: Any) -> Any:
    grad, rows = inputs[3], inputs[4]
    if len(inputs) > 5:
        options = _numbers(inputs, 5, 6, 7, 8)
    else:
        options = [attributes[name] for name in ("lr", "l1", "l2", "lr_power")]
    var, total, linear = (np.array(one) for one in inputs[:3])
    var[rows], total[rows], linear[rows] = _ftrl(var[rows], total[rows], linear[rows], grad, *options)
    return inputs.write(0, var), inputs.write(1, total), inputs.write(2, linear)


@operator("SparseApplyAdagradD", "SparseApplyAdagradV2D", "SparseApplyAdagrad", "SparseApplyAdagradV2")
def sparse_adagrad(inputs: Any, attributes: Any, _: Any) -> Any:
    rate = attributes["lr"] if "lr" in attributes else _numbers(inputs, 2)[0]
    grad, rows = inputs[-2:]
    var, total = np.array(inputs[0]), np.array(inputs[1])
    if attributes.get("update_slots", 1):
        total[rows] += grad * grad
    var[rows] -= rate * grad / (np.sqrt(total[rows]) + attributes.get("epsilon", 0.0))
    return inputs.write(0, var), inputs.write(1, total)


@operator("SparseApplyProximalAdagrad", "SparseApplyProximalAdagradD")
def sparse_proximal(inputs: Any, _: Any, __: Any) -> Any:
    rate, l1, l2 = _numbers(inputs, 2, 3, 4)
    grad, rows = inputs[5], inputs[6]
    var, total = np.array(inputs[0]), np.array(inputs[1])
    total[rows] += grad * grad
    steps = rate / np.sqrt(total[rows])
    var[rows] = _shrunk(var[rows] - steps * grad, steps, l1, l2)
    return inputs.write(0, var), inputs.write(1, total)


def _grouped(inputs: Any, grad: int, rows: int) -> tuple[Any, Any]:
    """Gradients of the same row added up."""
    places, index = np.unique(inputs[rows], return_inverse=True)
    sums = np.zeros((len(places), *inputs[grad].shape[1:]), inputs[grad].dtype)
    np.add.at(sums, index.reshape(-1), inputs[grad])
    return places, sums


@operator("SparseApplyFtrlV2", "SparseApplyFtrlV2D", "ApplyFtrlV2", "ApplyFtrlV2D")
def ftrl_v2(inputs: Any, attributes: Any, _: Any) -> Any:
    """With shrinkage: the gradient of the linear part also has that of the weights' square."""
    sparse = np.asarray(inputs.get(4)).dtype.kind in "iu" and np.ndim(inputs.get(4)) > 0
    rows = inputs[4] if sparse else slice(None)
    if "lr" in attributes:
        rate, l1, l2, shrinkage, power = (attributes[n] for n in ("lr", "l1", "l2", "l2_shrinkage", "lr_power"))
    else:
        rate, l1, l2, shrinkage, power = _numbers(inputs, *range(4 + sparse, 9 + sparse))
    var, total, linear = (np.array(one) for one in inputs[:3])
    grad, old = inputs[3], total[rows]
    new = old + grad * grad
    straight = linear[rows] + grad + 2 * shrinkage * var[rows] - (new**-power - old**-power) / rate * var[rows]
    slope = new**-power / rate + 2 * l2
    var[rows] = np.where(np.abs(straight) > l1, (np.sign(straight) * l1 - straight) / slope, 0)
    total[rows], linear[rows] = new, straight
    return inputs.write(0, var), inputs.write(1, total), inputs.write(2, linear)


def _adam_arguments(inputs: Any) -> Any:
    """The step, both decays, epsilon, and rows with the sums of their gradients."""
    power1, power2, rate, beta1, beta2, epsilon = _numbers(inputs, 3, 4, 5, 6, 7, 8)
    return (rate * np.sqrt(1 - power2) / (1 - power1), beta1, beta2, epsilon, *_grouped(inputs, 9, 10))


@operator("FusedSparseAdam")
def sparse_adam(inputs: Any, attributes: Any, _: Any) -> Any:
    """Every row moves; those without a gradient by what they remember."""
    step, beta1, beta2, epsilon, rows, grad = _adam_arguments(inputs)
    mean, squares = beta1 * inputs[1], beta2 * inputs[2]
    mean[rows] += (1 - beta1) * grad
    squares[rows] += (1 - beta2) * grad * grad
    moved = mean.copy()
    if attributes.get("use_nesterov"):
        moved[rows] = beta1 * mean[rows] + (1 - beta1) * grad
    var = inputs.write(0, inputs[0] - step * moved / (np.sqrt(squares) + epsilon))
    return var, inputs.write(1, mean), inputs.write(2, squares)


@operator("FusedSparseLazyAdam")
def sparse_lazy_adam(inputs: Any, attributes: Any, _: Any) -> Any:
    """Only rows with a gradient are touched."""
    step, beta1, beta2, epsilon, rows, grad = _adam_arguments(inputs)
    var, mean, squares = (np.array(one) for one in inputs[:3])
    mean[rows] = beta1 * mean[rows] + (1 - beta1) * grad
    squares[rows] = beta2 * squares[rows] + (1 - beta2) * grad * grad
    moved = beta1 * mean[rows] + (1 - beta1) * grad if attributes.get("use_nesterov") else mean[rows]
    var[rows] -= step * moved / (np.sqrt(squares[rows]) + epsilon)
    return inputs.write(0, var), inputs.write(1, mean), inputs.write(2, squares)


@operator("FusedSparseProximalAdagrad")
def sparse_proximal_fused(inputs: Any, _: Any, __: Any) -> Any:
    rate, l1, l2 = _numbers(inputs, 2, 3, 4)
    rows, grad = _grouped(inputs, 5, 6)
    var, total = np.array(inputs[0]), np.array(inputs[1])
    total[rows] += grad * grad
    steps = rate / np.sqrt(total[rows])
    var[rows] = _shrunk(var[rows] - steps * grad, steps, l1, l2)
    return inputs.write(0, var), inputs.write(1, total)


@operator("FusedSparseFtrl")
def sparse_ftrl_fused(inputs: Any, attributes: Any, _: Any) -> Any:
    rows, grad = _grouped(inputs, 3, 4)
    options = [attributes[name] for name in ("lr", "l1", "l2", "lr_power")]
    var, total, linear = (np.array(one) for one in inputs[:3])
    var[rows], total[rows], linear[rows] = _ftrl(var[rows], total[rows], linear[rows], grad, *options)
    return inputs.write(0, var), inputs.write(1, total), inputs.write(2, linear)


@operator("LarsV2Update")
def layer_wise(inputs: Any, attributes: Any, _: Any) -> Any:
    """The gradient scaled by how large the weights are against it (LARS); the third and fourth are sums of squares."""
    weight, grad, weights, grads, decay, rate = inputs[:6]
    weights, grads = np.sqrt(weights), np.sqrt(grads)
    size = attributes.get("hyperpara", 0.001) * weights / (grads + decay * weights + attributes.get("epsilon", 1e-5))
    size = np.where((weights > 0) & (grads > 0), size, 1)
    size = np.clip(size / rate, 0, 1) if attributes.get("use_clip") else size
    return (size * (grad + decay * weight)).astype(grad.dtype)


@operator("LambApplyWeightAssign")
def lamb_weight(inputs: Any, _: Any, __: Any) -> Any:
    """The ratio of the norms of weights and update scales the step."""
    weights, updates, rate, update, parameter = inputs[:5]
    ratio = np.where((weights > 0) & (updates > 0), weights / np.where(updates == 0, 1, updates), 1)
    return inputs.write(4, parameter - ratio * rate * update)


@operator("LambApplyOptimizerAssign")
def lamb_update(inputs: Any, _: Any, __: Any) -> Any:
    """The update, and both moments."""
    grad, second, first, parameter, keep1, take1, keep2, take2, epsilon, steps, used, decay = inputs[:12]
    first = keep1 * first + take1 * grad
    second = keep2 * second + take2 * grad * grad
    update = first / (1 - keep1**steps) / (np.sqrt(second / (1 - keep2**steps)) + epsilon)
    return update + used * decay * parameter, inputs.write(1, second), inputs.write(2, first)


@operator("ApplyAdagradDA")
def adagrad_da(inputs: Any, _: Any, __: Any) -> Any:
    """Dual averaging: the parameter is made of the sums of gradients and of their squares."""
    grad = inputs[3]
    rate, l1, l2, step = _numbers(inputs, 4, 5, 6, 7)
    total, squares = inputs.write(1, inputs[1] + grad), inputs.write(2, inputs[2] + grad * grad)
    kept = np.sign(total) * np.maximum(np.abs(total) - l1 * step, 0) if l1 > 0 else total
    return inputs.write(0, -rate * kept / (l2 * step * rate + np.sqrt(squares))), total, squares
