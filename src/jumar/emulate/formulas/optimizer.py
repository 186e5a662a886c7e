"""Steps of Adam: with decoupled decay, with the largest square so far (AMSGrad), and in BERT's form."""

from __future__ import annotations

from typing import NamedTuple

from .namespace import A, namespace


class Decays(NamedTuple):
    """How much of the first and the second moment stays from step to step."""

    first: float
    second: float


def moments(mean: A, square: A, grad: A, beta: Decays) -> tuple[A, A]:
    """The running mean of the gradient and of its square, with this gradient in them."""
    xp = namespace(grad)
    mean = xp.add_scaled(mean * beta.first, grad, 1 - beta.first)
    return mean, xp.add_product(square * beta.second, grad, grad, 1 - beta.second)


def adam_w(
    weight: A, mean: A, square: A, largest: A | None, grad: A, *, rate: float, beta: Decays, power: Decays,
    decay: float, epsilon: float, maximize: bool = False,
) -> tuple[A, A, A, A | None]:  # fmt: skip
    """`power`: the decays to the power of the number of steps, this one included. `largest` only with AMSGrad."""
    xp = namespace(grad)
    mean, square = moments(mean, square, -grad if maximize else grad, beta)
    largest = None if largest is None else xp.maximum(largest, square)
    size = square if largest is None else largest
    step = rate / (1 - power.first) * mean / (xp.sqrt(size / (1 - power.second)) + epsilon)
    return weight * (1 - rate * decay) - step, mean, square, largest


def bert_adam(
    weight: A, mean: A, square: A, grad: A, *, rate: float, beta: Decays, decay: float, epsilon: float,
    step_size: float | None = None,
) -> tuple[A, A, A]:  # fmt: skip
    """Without bias correction. The decay joins the update, or, with a step size, has the rate of its own."""
    mean, square = moments(mean, square, grad, beta)
    update = mean / (namespace(grad).sqrt(square) + epsilon)
    if step_size is None:
        return weight - rate * (update + decay * weight), mean, square
    return weight - (step_size * update + rate * decay * weight), mean, square
