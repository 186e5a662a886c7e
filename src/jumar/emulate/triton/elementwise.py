"""Functions of a math library, by the name a kernel calls them or by the symbol its compiler would link.

`tl.extra.libdevice`, `tl.extra.cuda.libdevice` and `tl.extra.cann.libdevice` name them alike; the symbols have a prefix
and the type behind (`__nv_tanhf`, `__hmf_tanhDh`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from jumar.emulate.triton.errors import Refused
from jumar.emulate.triton.numbers import value, wide


def _special(name: str) -> Callable[..., Any]:
    """A function that numpy lacks: torch computes it, in float64."""

    def compute(*arrays: Any) -> Any:
        import torch

        function = getattr(torch.special, name, None) or getattr(torch, name)
        wanted = [torch.from_numpy(np.ascontiguousarray(array, dtype=np.float64)) for array in arrays]
        return function(*wanted).numpy()

    return compute


def _bits(x: Any) -> Any:
    return x.view(np.dtype(f"u{x.dtype.itemsize}"))


def _popcount(x: Any) -> Any:
    rows = np.ascontiguousarray(_bits(x)).view(np.uint8).reshape(*x.shape, x.dtype.itemsize)
    return np.unpackbits(rows, axis=-1).sum(axis=-1, dtype=np.int32)


def _leading_zeros(x: Any) -> Any:
    size = x.dtype.itemsize * 8
    found = np.full(x.shape, size, np.int32)
    for bit in range(size):
        found = np.where((_bits(x) >> np.array(bit, _bits(x).dtype)) & 1 == 1, size - 1 - bit, found)
    return found.astype(np.int32)


def _round(x: Any) -> Any:
    """Halves go away from zero."""
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def _normal_cdf(x: Any) -> Any:
    return _special("ndtr")(x)


def _exponent(x: Any) -> Any:
    return np.frexp(x)[1] - 1


def _with_odd(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: function(np.asarray(x, np.float64) * np.pi)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs, "fabs": np.abs, "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atan2": np.arctan2, "atanh": np.arctanh, "cbrt": np.cbrt, "ceil": np.ceil,
    "copysign": np.copysign,
    "cos": np.cos, "cosh": np.cosh, "cospi": _with_odd(np.cos), "div_rn": np.divide, "fdividef": np.divide,
    "div_rz": np.divide, "fast_dividef": np.divide, "fdiv": np.divide, "erf": _special("erf"), "erfc": _special("erfc"),
    "erfcinv": lambda x: _special("erfinv")(1 - np.asarray(x, np.float64)), "erfcx": _special("erfcx"),
    "erfinv": _special("erfinv"), "exp": np.exp, "exp10": lambda x: np.power(10.0, np.asarray(x, np.float64)),
    "exp2": np.exp2, "expm1": np.expm1, "fdim": lambda x, y: np.where(x > y, x - y, 0), "finitef": np.isfinite,
    "isfinited": np.isfinite, "isfinite": np.isfinite, "floor": np.floor, "fmax": np.fmax, "fmin": np.fmin,
    "max": np.maximum,
    "min": np.minimum, "fmod": np.fmod, "gamma": lambda x: np.exp(_special("gammaln")(x)),
    "tgamma": lambda x: np.exp(_special("gammaln")(x)), "lgamma": _special("gammaln"), "hypot": np.hypot,
    "ilogb": _exponent, "logb": _exponent, "isinf": np.isinf, "isnan": np.isnan, "isinfd": np.isinf, "isnand": np.isnan,
    "j0": _special("bessel_j0"), "j1": _special("bessel_j1"), "y0": _special("bessel_y0"), "y1": _special("bessel_y1"),
    "cyl_bessel_i0": _special("i0"), "cyl_bessel_i1": _special("i1"),
    "ldexp": lambda x, y: np.ldexp(x, y.astype(np.int32)), "scalbn": lambda x, y: np.ldexp(x, y.astype(np.int32)),
    "log": np.log, "log10": np.log10, "log1p": np.log1p,
    "log2": np.log2, "nearbyint": np.rint, "rint": np.rint, "nextafter": np.nextafter, "normcdf": _normal_cdf,
    "normcdfinv": _special("ndtri"), "pow": np.power, "powi": np.power, "recip": np.reciprocal,
    "reciprocal": np.reciprocal, "rcp_rn": np.reciprocal, "relu": lambda x: np.maximum(x, 0),
    "rhypot": lambda x, y: 1 / np.hypot(x, y), "round": _round, "rsqrt": lambda x: 1 / np.sqrt(x),
    "rsqrt_rn": lambda x: 1 / np.sqrt(x), "saturatef": lambda x: np.clip(x, 0, 1), "signbit": np.signbit,
    "sin": np.sin, "sinh": np.sinh, "sinpi": _with_odd(np.sin), "sqrt": np.sqrt, "sqrt_rn": np.sqrt, "tan": np.tan,
    "tanh": np.tanh, "trunc": np.trunc, "llrint": np.rint, "llround": _round, "fma": lambda x, y, z: (
        np.multiply(x, y, dtype=np.float64) + z), "fast_expf": np.exp, "fast_exp": np.exp, "fast_logf": np.log,
    "fast_log": np.log, "fast_log2f": np.log2, "fast_log10f": np.log10, "fast_sinf": np.sin, "fast_cosf": np.cos,
    "fast_tanf": np.tan, "fast_powf": np.power, "fast_tanhf": np.tanh, "popc": _popcount, "clz": _leading_zeros,
    "ffs": lambda x: np.where(x == 0, 0, _popcount((_bits(x) & -_bits(x)) - 1) + 1),
    "sub_rn": np.subtract, "add_rn": np.add, "mul_rn": np.multiply,
}  # fmt: skip
"""Functions of numbers; those that answer float64 are rounded to the type of the call."""

_PREFIX = re.compile(r"^(__nv_|__hmf_|__ocml_|__builtin_)")
_SUFFIX = re.compile(r"(Dh|_f(16|32|64)|[fdil]|ll)$")


def known(name: str) -> Callable[..., Any] | None:
    """The function of a name or symbol."""
    bare = _PREFIX.sub("", name)
    return FUNCTIONS.get(bare) or FUNCTIONS.get(_SUFFIX.sub("", bare))


def by_symbol(symbol: str, handles: Any, dtype: Any) -> Any:
    """The answer of a function that a compiler would link."""
    function = known(symbol)
    if function is None:
        raise Refused(
            f"`{symbol}` has no counterpart among the functions of the emulator", "write it with functions of tl.math"
        )
    return value(np.asarray(function(*(wide(handle) for handle in handles))), dtype)
