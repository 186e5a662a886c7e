"""How far apart two results of an operator may be: measured by moving its inputs by one rounding, not written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Results = Mapping[str, Any]
NOISE = {"float32": 2.0**-22, "float64": 2.0**-22, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""One rounding of an input, by data type; in float32 long sums in another order are worth some (as in `compare`)."""
COARSER = {"hf32": 2.0**-12, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""Roundings that may explain a difference, finest first. hf32 keeps 11 bits of the mantissa."""
SATURATION, SUBNORMALS = "saturation", "subnormals"
"""What a card may lack: inf and nan, and numbers below the normal ones."""
RUNS = 4
_LOCAL, _ALL, _ROUNDINGS = 6.0, 3.0, 8.0
BIASED = 0.3
"""Mean shift, in units of the last place, of results that are always rounded one way; rounding to nearest has 0."""
_MANY, _SOME = 200, 20
_FEW, _EVEN, _FAR = 8, 0.1, 64.0
"""A pattern needs so many values, which agree to this part of it, and is so many roundings away."""


class Moved(NamedTuple):
    """How results move with their inputs: each value at most so far, and all of them on average."""

    most: Any
    mean: float


def moved(run: Callable[[float, int], Results], plain: Results, noise: float) -> dict[str, Moved]:
    """Run a case with moved inputs; by name of the result. What is no real number does not move."""
    found: dict[str, Moved] = {}
    for draw in range(RUNS):
        for name, result in run(noise, draw).items():
            other = plain.get(name)
            if not _is_real(result) or other is None or other.shape != result.shape:
                continue
            away = (result.double() - other.double()).abs().nan_to_num(0.0, 0.0, 0.0)
            before = found.get(name)
            most = away if before is None else away.maximum(before.most)
            mean = float(away.square().mean().sqrt()) if away.numel() else 0.0
            found[name] = Moved(most, max(mean, before.mean if before else 0.0))
    return found


def ratio(a: Any, b: Any, by: Moved | None, unit: float) -> float:
    """The largest difference in floors: up to 1 the results are the same. `unit` is one rounding of the result."""
    import torch

    one, other = a.double(), b.double()
    if not bool((one.isfinite() == other.isfinite()).all()):
        return float("inf")
    odd = ~one.isfinite()
    if bool(odd.any()) and not torch.equal(one[odd].nan_to_num(0.0), other[odd].nan_to_num(0.0)):
        return float("inf")
    away = (one - other).abs().masked_fill(odd, 0.0)
    allowed = _ROUNDINGS * unit * other.abs().masked_fill(odd, 0.0) + torch.finfo(b.dtype).tiny
    if by is not None:
        allowed = allowed + _LOCAL * by.most + _ALL * by.mean
    return float((away / allowed).max()) if away.numel() else 0.0


def unit(result: Any) -> float:
    """One rounding of a result's data type."""
    import torch

    return float(torch.finfo(result.dtype).eps) / 2


def shift(a: Any, b: Any) -> float:
    """The mean distance of `a` from `b` away from 0 in units of the last place; 0 for too few values to tell."""
    import torch

    one, other = a.double().flatten(), b.double().flatten()
    last = other.abs().clamp_min(torch.finfo(b.dtype).tiny).log2().floor().exp2() * torch.finfo(b.dtype).eps
    away = (one.abs() - other.abs()) / last
    away = away[away.isfinite()]
    if away.numel() < _MANY or int((away != 0).sum()) < _SOME:
        return 0.0
    return float(away.clamp(-2, 2).mean())


def pattern(a: Any, b: Any) -> str:
    """What no rounding does: all values of `a` are those of `b` times one factor, or plus one number."""
    one, other = a.double().flatten(), b.double().flatten()
    kept = one.isfinite() & other.isfinite() & (other != 0)
    one, other = one[kept], other[kept]
    if one.numel() < _FEW:
        return ""
    size = float(other.abs().median())
    factor = _common(one / other - 1, _FAR * unit(b))
    if factor is not None:
        return f"{1 + factor:.6g} times the other"
    more = _common(one - other, _FAR * unit(b) * size)
    return "" if more is None else f"the other {'plus' if more > 0 else 'minus'} {abs(more):.3g}"


def lost(a: Any, b: Any) -> str:
    """What all differing values have in common, if `a` lacks a kind of number that `b` has."""
    import torch

    ends = torch.finfo(b.dtype)
    away = (a != b) & ~(a.isnan() & b.isnan())
    one, other = a[away], b[away]
    if bool(((other.abs() < ends.tiny) & (one == 0)).all()) and float(other.abs().max()) > ends.tiny * ends.eps * 4:
        return SUBNORMALS
    largest = other.isinf() & (one == other.sign() * ends.max)
    return SATURATION if bool((largest | (other.isnan() & (one == 0))).all()) else ""


def _common(found: Any, least: float) -> float | None:
    """The number that nearly all of these are."""
    middle = float(found.median())
    even = float(((found - middle).abs() < _EVEN * abs(middle)).double().mean()) > 1 - _EVEN
    return middle if abs(middle) > least and even else None


def repeated(first: Results, second: Results) -> float:
    """How far the second of two equal runs is from the first; what sums in another order may do is below 1."""
    import torch

    worst = 0.0
    for name, a in first.items():
        b = second.get(name)
        if b is None or a.shape != b.shape or a.dtype != b.dtype:
            return float("inf")
        if torch.equal(a, b):
            continue
        if not _is_real(a):
            return float("inf")
        size = float(a.double().nan_to_num(0.0, 0.0, 0.0).square().mean().sqrt())
        worst = max(worst, ratio(b, a, Moved(torch.zeros_like(a, dtype=torch.float64), 16 * unit(a) * size), unit(a)))
    return worst


def relative(a: Any, b: Any) -> float | None:
    """Root mean square of the difference, over that of `b`: the noise of a card against the reference."""
    one, other = a.double(), b.double()
    if not _is_real(a) or not a.numel() or not bool(one.isfinite().all() and other.isfinite().all()):
        return None
    size = float(other.square().mean().sqrt())
    return float((one - other).square().mean().sqrt()) / size if size else None


def _is_real(result: Any) -> bool:
    return bool(result.is_floating_point())
