"""Updates of parameters by operator calls (aclnn): what is changed is an input and the output."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import kernel


@kernel("aclnnApplyAdamWV2")
def adam(
    weight: Any, mean: Any, square: Any, largest: Any, grad: Any, step: Any,
    rate: float, beta1: float, beta2: float, decay: float, epsilon: float, amsgrad: int, maximize: int,
) -> Any:  # fmt: skip
    """Adam with decoupled decay. `step` counts from 0."""
    count = float(np.reshape(step, -1)[0]) + 1
    grad = -grad if maximize else grad
    weight = weight * (1 - rate * decay)
    mean = beta1 * mean + (1 - beta1) * grad
    square = beta2 * square + (1 - beta2) * grad * grad
    largest = np.maximum(largest, square) if amsgrad else largest
    scale = np.sqrt((largest if amsgrad else square) / (1 - beta2**count)) + epsilon
    return weight - rate / (1 - beta1**count) * mean / scale, mean, square, largest
