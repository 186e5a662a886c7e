"""Activations: gelu and its approximations, silu, and gated units of two halves, forward and backward."""

from __future__ import annotations

from typing import Any, Callable, cast

from .namespace import A, namespace

_FAST = 1.702


def fast_gelu(x: A) -> A:
    return swish(x, _FAST)


def fast_gelu_backward(grad: A, x: A) -> A:
    s = namespace(x).sigmoid(_FAST * x)
    return grad * s + grad * x * (1 - s) * s * _FAST


def swish(x: A, scale: float = 1.0) -> A:
    return x * namespace(x).sigmoid(scale * x)


def silu(x: A) -> A:
    return namespace(x).silu(x)


def relu(x: A) -> A:
    return namespace(x).clip(x, 0, None)


def gelu(x: A) -> A:
    """By the tanh, which is what operators with an activation inside mean."""
    return namespace(x).gelu(x, approximate="tanh")


INSIDE: dict[str, Callable[[Any], Any]] = {"fastgelu": fast_gelu, "gelu": gelu, "relu": relu, "silu": silu}
"""Activations inside of operators that do more, by name; each operator has numbers of its own for them."""
GATES = {"geglu": "gelu", "swiglu": "silu", "reglu": "relu"}


def inside(x: A, name: str) -> A:
    """An activation by name: one of `INSIDE`, or of `GATES`, whose first half is the gate."""
    if name not in GATES:
        return cast("A", INSIDE[name](x))
    gate, value = namespace(x).split(x, 2, -1)
    return cast("A", INSIDE[GATES[name]](gate) * value)


def swiglu(x: A, axis: int = -1, *, gate_first: bool = True) -> A:
    gate, value = _halves(x, axis, gate_first)
    return namespace(x).silu(gate) * value


def swiglu_backward(grad: A, x: A, axis: int = -1) -> A:
    xp = namespace(x)
    gate, value = xp.split(x, 2, axis)
    return xp.concat([xp.silu_backward(grad * value, gate), grad * xp.silu(gate)], axis)


def geglu(x: A, axis: int = -1, *, approximate: str = "tanh", gate_first: bool = False) -> tuple[A, A]:
    """The product, and the gelu of the gate."""
    gate, value = _halves(x, axis, gate_first)
    activated = namespace(x).gelu(gate, approximate=approximate)
    return value * activated, activated


def geglu_backward(grad: A, x: A, axis: int = -1, *, approximate: str = "tanh", gate_first: bool = False) -> A:
    xp = namespace(x)
    gate, value = _halves(x, axis, gate_first)
    to_gate = xp.gelu_backward(grad * value, gate, approximate=approximate)
    to_value = grad * xp.gelu(gate, approximate=approximate)
    return xp.concat([to_gate, to_value] if gate_first else [to_value, to_gate], axis)


def glu(x: A, axis: int = -1) -> A:
    value, gate = namespace(x).split(x, 2, axis)
    return value * namespace(x).sigmoid(gate)


def glu_backward(grad: A, x: A, axis: int = -1) -> A:
    xp = namespace(x)
    value, gate = xp.split(x, 2, axis)
    s = xp.sigmoid(gate)
    return xp.concat([grad * s, grad * value * s * (1 - s)], axis)


def clipped_swiglu(gate: A, value: A, *, alpha: float, limit: float, bias: float) -> A:
    """Both kept within a limit, as in gpt-oss."""
    xp = namespace(gate)
    gate, value = xp.clip(gate, None, limit), xp.clip(value, -limit, limit)
    return gate * xp.sigmoid(alpha * gate) * (value + bias)


def _halves(x: A, axis: int, gate_first: bool) -> tuple[A, A]:
    """The gate and the value."""
    left, right = namespace(x).split(x, 2, axis)
    return (left, right) if gate_first else (right, left)
