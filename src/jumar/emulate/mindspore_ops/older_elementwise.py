"""Functions of each element and their slopes,."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
from scipy import special

from ..formulas import activation
from ..formulas.namespace import namespace
from .memory import FLOAT16
from .registry import Sized, operator


def _axis(attributes: Any, name: str = "dim", missing: int = -1) -> int:
    return int(attributes.get(name, missing))


# Of all inputs; functions of numpy and scipy take them in the order of the row.
_PLAIN: dict[str, Callable[..., Any]] = {
    "AbsGrad": lambda y, dy: np.sign(y) * dy,
    "AcosGrad": lambda y, dy: -dy / np.sqrt(1 - y * y),
    "AcoshGrad": lambda y, dy: dy / np.sinh(y),
    "Angle": np.angle,
    "AsinGrad": lambda y, dy: dy / np.sqrt(1 - y * y),
    "AsinhGrad": lambda y, dy: dy / np.cosh(y),
    "AtanGrad": lambda y, dy: dy / (1 + y * y),
    "BesselI0": special.i0,
    "BesselI0e": special.i0e,
    "BesselI1": special.i1,
    "BesselI1e": special.i1e,
    "BesselJ0": special.j0,
    "BesselJ1": special.j1,
    "BesselK0": special.k0,
    "BesselK0e": special.k0e,
    "BesselK1": special.k1,
    "BesselK1e": special.k1e,
    "BesselY0": special.y0,
    "BesselY1": special.y1,
    "Betainc": special.betainc,
    "Clip": np.clip,
    "ClipByValue": np.clip,
    "Complex": lambda real, imaginary: real + 1j * imaginary,
    "ComplexAbs": np.abs,
    "Conj": np.conj,
    "Cosh": np.cosh,
    "Digamma": special.digamma,
    "Erfc": special.erfc,
    "Erfinv": special.erfinv,
    "FastGelu": activation.fast_gelu,
    "FastGeluGrad": activation.fast_gelu_backward,
    "Gcd": np.gcd,
    "Ger": np.outer,
    "Heaviside": np.heaviside,
    "Hypot": np.hypot,
    "Igamma": special.gammainc,
    "Igammac": special.gammaincc,
    "Imag": np.imag,
    "Inv": lambda x: 1 / x,
    "InvGrad": lambda y, dy: -dy * y * y,
    "Invert": np.invert,
    "IsFinite": np.isfinite,
    "IsInf": np.isinf,
    "Lcm": np.lcm,
    "LeftShift": np.left_shift,
    "Lerp": lambda start, end, weight: start + weight * (end - start),
    "Lgamma": special.gammaln,
    "LogSigmoid": lambda x: -np.logaddexp(0, -x),
    "LogicalXor": np.logical_xor,
    "MulNoNan": lambda x, y: np.where(y == 0, 0, x * y),
    "NextAfter": np.nextafter,
    "Polar": lambda size, angle: size * np.exp(1j * angle),
    "Polygamma": lambda order, x: special.polygamma(np.asarray(order).reshape(-1)[0], x),
    "PopulationCount": lambda x: np.unpackbits(np.ascontiguousarray(x)[..., None].view(np.uint8), axis=-1).sum(-1),
    "Real": np.real,
    "ReciprocalGrad": lambda y, dy: -dy * y * y,
    "RightShift": np.right_shift,
    "Rint": np.rint,
    "Round": np.rint,
    "RsqrtGrad": lambda y, dy: dy * -0.5 * y**3,
    "SigmoidGrad": lambda y, dy: dy * y * (1 - y),
    "SiluGrad": lambda dy, x: namespace(x).silu_backward(dy, x),
    "Sinc": np.sinc,
    "Sinh": np.sinh,
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "SqrtGrad": lambda y, dy: dy * 0.5 / y,
    "Tan": np.tan,
    "TanhGrad": lambda y, dy: dy * (1 - y * y),
    "Trunc": np.trunc,
    "TruncateDiv": lambda x, y: np.trunc(x / y),
    "Xdivy": lambda x, y: np.where(x == 0, 0, x / y),
    "Zeta": special.zeta,
}
# Of one input, or a gradient and an input, and attributes.
_WITH: dict[str, Callable[..., Any]] = {
    "ApproximateEqual": lambda x, y, tolerance=1e-5: np.abs(x - y) < tolerance,
    "CeluV2": lambda x, alpha=1.0: np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha)),
    "Cross": lambda x, y, dim=-1: np.cross(x, y, axis=dim),
    "EluGradV2": lambda dy, y, alpha=1.0: np.where(y > 0, dy, dy * (y + alpha)),
    "HardShrink": lambda x, lambd=0.5: np.where(np.abs(x) > lambd, x, 0),
    "HardShrinkGrad": lambda dy, x, lambd=0.5: np.where(np.abs(x) > lambd, dy, 0),
    "LeakyRelu": lambda x, negative_slope=0.0: np.where(x > 0, x, negative_slope * x),
    "Logit": lambda x, eps=-1.0: special.logit(x if eps < 0 else np.clip(x, eps, 1 - eps)),
    "NanToNum": lambda x, nan=0.0, posinf=None, neginf=None: np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf),
    "Shrink": lambda x, lambd=0.5, bias=0.0: np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0)),
    "SoftShrink": lambda x, lambd=0.5: np.sign(x) * np.maximum(np.abs(x) - lambd, 0),
    "SoftShrinkGrad": lambda dy, x, lambd=0.5: np.where(np.abs(x) > lambd, dy, 0),
    "Swish": activation.swish,
    "Threshold": lambda x, threshold=0.0: (x > threshold).astype(x.dtype),
}


def _register() -> None:
    for name, function in {**_PLAIN, **_WITH}.items():
        operator(name)(function)


_register()


def _summed(x: Any, shape: tuple[int, ...]) -> Any:
    """The gradient of what was broadcast from this shape."""
    x = x.sum(tuple(range(x.ndim - len(shape))))
    return x.sum(tuple(axis for axis, size in enumerate(shape) if size == 1 and x.shape[axis] != 1), keepdims=True)


@operator("MaximumGrad")
def maximum_backward(grad: Any, x: Any, y: Any) -> Any:
    return _summed(np.where(x >= y, grad, 0), x.shape), _summed(np.where(x < y, grad, 0), y.shape)


@operator("MinimumGrad")
def minimum_backward(grad: Any, x: Any, y: Any) -> Any:
    return _summed(np.where(x <= y, grad, 0), x.shape), _summed(np.where(x > y, grad, 0), y.shape)


@operator("MaskedFill")
def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    return np.where(mask, value, x)


@operator("MaskedSelect")
def masked_select(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x, mask = np.broadcast_arrays(*inputs[:2])
    return Sized(x[mask.astype(bool)])


@operator("NonZero", "NonZeroV2", "Where")
def non_zero(x: Any, *, transpose: bool = False) -> Any:
    places = np.argwhere(x)
    return Sized(places.T if transpose else places)


def _running(best: Any, x: Any, axis: int) -> Any:
    values = best.accumulate(x, axis)
    order = np.arange(x.shape[axis]).reshape([-1 if at == axis % x.ndim else 1 for at in range(x.ndim)])
    places = np.maximum.accumulate(np.where(x == values, order, 0), axis)
    return values, places


@operator("Cummax")
def cummax(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return _running(np.maximum, inputs[0], _axis(attributes))


@operator("Cummin")
def cummin(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return _running(np.minimum, inputs[0], _axis(attributes, "axis"))


def total_so_far(x: Any, axis: int, attributes: Any, add: np.ufunc, first: Any) -> Any:
    """From one end or the other, with each value itself or, from `first` on, only with those before it."""
    x = np.moveaxis(x, axis, 0)
    x = x[::-1] if attributes.get("reverse") else x
    x = np.concatenate([np.full_like(x[:1], first), x[:-1]]) if attributes.get("exclusive") else x
    found = add.accumulate(x, 0)
    return np.moveaxis(found[::-1] if attributes.get("reverse") else found, 0, axis)


@operator("CumulativeLogsumexp")
def running_log_sum(inputs: Any, attributes: Any, outputs: Any) -> Any:
    axis = int(np.asarray(inputs[1]).reshape(-1)[0])
    lowest = np.finfo(np.float16 if outputs[0].type == FLOAT16 else inputs[0].dtype).min
    return total_so_far(inputs[0], axis, attributes, np.logaddexp, lowest)


@operator("SoftmaxGrad")
def softmax_backward(y: Any, dy: Any, *, axes: Any = None) -> Any:
    axis = tuple(int(v) for v in np.reshape(axes or [-1], -1))
    return y * (dy - (dy * y).sum(axis, keepdims=True))


@operator("LogSoftmaxGrad")
def log_softmax_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    dy, y = inputs
    axis = tuple(int(v) for v in np.reshape(attributes.get("axis") or [-1], -1))
    return dy - np.exp(y) * dy.sum(axis, keepdims=True)


@operator("SquareSumAll")
def sums_of_squares(one: Any, other: Any) -> Any:
    return (one * one).sum(), (other * other).sum()


@operator("ReduceLogSumExp")
def log_sum(inputs: Any, attributes: Any, outputs: Any) -> Any:
    axis = tuple(int(v) for v in np.reshape(inputs[1] if len(inputs) > 1 else attributes.get("axes", []), -1))
    return special.logsumexp(inputs[0], axis or None, keepdims=bool(attributes.get("keep_dims")))


@operator("FFTShift")
def shift(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return np.fft.fftshift(inputs[0], _axes(inputs, attributes))


@operator("IFFTShift")
def shift_back(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return np.fft.ifftshift(inputs[0], _axes(inputs, attributes))


def _axes(inputs: Any, attributes: Any) -> Any:
    given = inputs.get(1)
    axes = given if given is not None else attributes.get("axes") or attributes.get("dim") or []
    return tuple(int(v) for v in np.reshape(axes, -1)) or None
