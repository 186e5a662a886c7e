"""How far apart two tensors are, from their sketches, or from their statistics where there is no sketch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jumar.compare.folding import fold
from jumar.compare.precision import LARGEST, UNIT
from jumar.compare.result import STATS, Error, RecordEntry
from jumar.compare.store import RecordedStep

HEAD = len(STATS)
SMALLEST = 1e-30
NOTHING = 1e-15
"""Tensors whose values are all about this small, such as squares of gradients that ought to be 0, are equal."""
SAME = Error(0.0, 1.0)
_MIN, _MAX = STATS.index("min"), STATS.index("max")


def entries(
    a: RecordedStep, first: RecordEntry, b: RecordedStep, second: RecordEntry, *, main: bool = False
) -> Error | None:
    """The largest error over the outputs that both have, or that of the main one; None if nothing can be compared."""
    worst = None
    real = any(out.dtype in UNIT for out in first.outs)  # the indices of a topk are no numbers beside its values
    for one, other in zip(first.outs, second.outs):
        if one.row < 0 or other.row < 0 or one.numel != other.numel or (real and one.dtype not in UNIT):
            continue
        error = rows(a.numbers[one.row], b.numbers[other.row], one.numel)
        if worst is None or not error.relative <= worst.relative:
            worst = error
        if main or canonical_differs(first, second):
            break
    return worst


def mean_size(step: RecordedStep, entry: RecordEntry) -> float:
    """Of the values of the main output; 0 if it has no numbers."""
    out = next((out for out in entry.outs if out.row >= 0), None)
    if out is None or not out.numel:
        return 0.0
    return float(step.numbers[out.row][STATS.index("norm")]) / math.sqrt(out.numel)


def peak(step: RecordedStep, entry: RecordEntry) -> float:
    """The share of its largest value in the length of the main output; 0 if it has no numbers."""
    out = next((out for out in entry.outs if out.row >= 0), None)
    if out is None:
        return 0.0
    row = step.numbers[out.row]
    norm = float(row[STATS.index("norm")])
    return float(max(-row[_MIN], row[_MAX])) / norm if 0 < norm < math.inf else 0.0


def is_masked(step: RecordedStep, entry: RecordEntry) -> bool:
    """Whether places are filled with the lowest value of the dtype: beside it nothing else can be measured."""
    rows = [(step.numbers[out.row], LARGEST.get(out.dtype, math.inf)) for out in entry.outs if out.row >= 0]
    return any(max(-row[_MIN], row[_MAX]) > largest / 2 for row, largest in rows)


def canonical_differs(first: RecordEntry, second: RecordEntry) -> bool:
    """Operators of two names agree in their first output; the others are their own affair."""
    return first.op.rstrip("_") != second.op.rstrip("_")


def rows(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], numel: int) -> Error:
    if (a[4], a[5]) != (b[4], b[5]):
        return Error(float("inf"), 0.0, "nan or inf on one side")
    if all(len(row) > HEAD and not np.isnan(row[HEAD:]).all() for row in (a, b)):
        return _sketches(a, b, numel)
    return _statistics(a[:HEAD], b[:HEAD], numel)


def _sketches(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], numel: int) -> Error:
    width = min(len(a), len(b)) - HEAD
    first, second = (fold(row[None, HEAD:].astype(np.float64), width)[0] for row in (a, b))
    good = np.isfinite(first) & np.isfinite(second)
    if not good.any():
        return SAME
    first, second = first[good], second[good]
    difference = float(np.linalg.norm(first - second))
    if difference == 0:
        return SAME
    norms = float(np.linalg.norm(first)), float(np.linalg.norm(second))
    # The true lengths are known; the sketch's own is only an estimate, but safe from squares that underflow.
    size = max(*norms, *(float(row[3]) for row in (a, b) if good.all() and np.isfinite(row[3])))
    if size < NOTHING * max(numel, 1) ** 0.5:
        return SAME
    relative = difference / size
    cosine = float(first @ second) / max(norms[0] * norms[1], SMALLEST)
    return Error(relative, max(-1.0, min(1.0, cosine)))


def _statistics(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], numel: int) -> Error:
    """A lower bound: what norm, mean and extremes alone give away."""
    with np.errstate(all="ignore"):
        size = max(abs(float(a[3])), abs(float(b[3])), SMALLEST)
        parts = [abs(float(b[3]) - float(a[3])) / size, abs(float(b[2]) - float(a[2])) / np.sqrt(max(numel, 1)) / size]
        parts += [abs(float(b[place]) - float(a[place])) / size for place in (0, 1)]
    relative = max((part for part in parts if np.isfinite(part)), default=0.0)
    return Error(relative, float("nan"), "statistics")
