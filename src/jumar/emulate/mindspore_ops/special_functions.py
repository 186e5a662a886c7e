"""Special functions, steps and windows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .memory import FLOAT16
from .registry import operator


@operator("Mvlgamma")
def log_gamma(values: Any, *, p: Any) -> Any:
    """The logarithm of the gamma function of p × p matrices."""
    x, size = values.astype(np.float64), p
    return size * (size - 1) / 4 * np.log(np.pi) + sum(special.gammaln(x - at / 2) for at in range(size))


@operator("MvlgammaGrad")
def log_gamma_backward(grad: Any, values: Any, *, p: Any) -> Any:
    x = values.astype(np.float64)
    return grad * sum(special.digamma(x - at / 2) for at in range(p))


@operator("IgammaGradA")
def lower_gamma_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """What the lower incomplete gamma function changes by along its first argument, by differences."""
    a, x = (one.astype(np.float64) for one in inputs[:2])
    step = 1e-4 * np.maximum(a, 1e-3)
    near, far = (special.gammainc(a + n * step, x) - special.gammainc(a - n * step, x) for n in (1, 2))
    return (8 * near - far) / (12 * step)


@operator("Eps")
def smallest_step(x: Any, outputs: Any) -> Any:
    kind = np.float16 if outputs[0].type == FLOAT16 else x.dtype
    return np.full(outputs[0].shape, float(np.finfo(kind).eps))


@operator("LogSpace")
def log_space(inputs: Any, attributes: Any, outputs: Any) -> Any:
    start, end = (float(np.reshape(one, -1)[0]) for one in inputs[:2])
    return float(attributes.get("base", 10)) ** np.linspace(start, end, outputs[0].shape[0])


def _angles(inputs: Any, attributes: Any) -> Any:
    """From 0 to 2π; a periodic window is one of the next length without its last value."""
    length = int(np.reshape(inputs[0], -1)[0])
    whole = length + 1 if attributes.get("periodic", 1) else length
    return np.linspace(0, 2 * np.pi, whole)[:length] if length > 1 else np.full(length, np.pi)


@operator("BartlettWindow")
def bartlett(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return 1 - np.abs(_angles(inputs, attributes) / np.pi - 1)


@operator("BlackmanWindow")
def blackman(inputs: Any, attributes: Any, outputs: Any) -> Any:
    angle = _angles(inputs, attributes)
    return np.maximum(0.42 - 0.5 * np.cos(angle) + 0.08 * np.cos(2 * angle), 0)


@operator("HammingWindow")
def hamming(inputs: Any, attributes: Any, outputs: Any) -> Any:
    angle = _angles(inputs, attributes)
    alpha, beta = float(attributes.get("alpha", 0.54)), float(attributes.get("beta", 0.46))
    return alpha - beta * np.cos(angle) if angle.size != 1 else np.ones(1)
