"""Noise that runs with rounding noise do not show: values too small for float16, and indices that flip.

Rounding is in proportion to a value; float16 has no values between 0 and 6e-8, so that small gradients lose their
digits there. And where a choice (topk, argmax, a comparison) hangs on values that are close to each other, noise
decides it. Both are handed on to what is computed from them.
"""

from __future__ import annotations

import math

import numpy as np

from jumar.compare import measure
from jumar.compare.align import canonical
from jumar.compare.precision import UNIT, is_product
from jumar.compare.result import RecordEntry
from jumar.compare.store import RecordedStep

_QUANTUM = 2.0**-24 / math.sqrt(12)
"""The mean error of a value that float16 rounds to a multiple of its smallest one."""
_SUMS = ("sum", "add", "sub")
_KINKS = ("threshold_backward", "leaky_relu_backward", "hardtanh_backward", "hardswish_backward", "sign", "sgn",
          "hardsigmoid_backward", "rrelu_with_noise_backward", "prelu_kernel_backward")  # fmt: skip
"""Operators that jump where a value changes its sign or passes a border."""
_RARE, _OFTEN = 0.01, 10.0
"""Values that are expected to pass a border: fewer is no excuse, and more show in the runs with noise themselves."""
_ONE = 1 / 8
"""One value that does so must stay within the limit of the backward pass, not beyond it."""


class Spread:
    """By operator of the first run, the relative error that is allowed beside its floor."""

    def __init__(self, a: RecordedStep, b: RecordedStep, precision: str) -> None:
        self._a, self._b = a, b
        self._is_half = precision == "float16"
        self._known: dict[int, float] = {}
        self._flipped: set[int] = set()
        self.gradients: dict[str, float] = {}
        """By weight: how much of it is noise, if it is not a fault that comes first anyway."""

    def at(self, first: RecordEntry, second: RecordEntry, error: float, error_in: float, own: float = 0.0) -> float:
        """For one pair, in the order of the first run; `own` is what is known of it already."""
        allowed = max((self._handed(number, first) for number in first.inputs), default=0.0)
        if self._is_half:
            allowed = max(allowed, self._underflow(second))
        if any(number in self._flipped for number in first.inputs):
            allowed = max(allowed, error if error < math.inf else 0.0)
        largest = max(measure.peak(self._a, first), measure.peak(self._b, second))
        allowed = max(allowed, _jump(first, error_in, largest))
        if first.kind == "state" and " of " in first.name:
            allowed = max(allowed, self.gradients.get(first.name.rpartition(" of ")[2], 0.0))
        if first.kind == "op" and (error_in != 0 or allowed > 0) and self._chooses(first, second):
            self._flipped.add(first.index)
        if first.kind == "grad":
            self.gradients[first.name] = max(allowed, error if error < math.inf else 0.0)
        # Signs that flip in an update are rare; only where float16 has lost a gradient they are worth handing on.
        self._known[first.index] = max(allowed, own if self._is_half else 0.0)
        return max(allowed, own)

    def _handed(self, number: int, entry: RecordEntry) -> float:
        """What an input hands on; a vector that is added has its share in the result only."""
        known = self._known.get(number, 0.0)
        source = self._a.entries[number]
        if known == 0 or source.kind != "weight" or len(source.outs[0].shape) != 1:
            return known
        size = measure.mean_size(self._a, entry)
        return known * min(1.0, measure.mean_size(self._a, source) / size) if size > 0 else known

    def _chooses(self, first: RecordEntry, second: RecordEntry) -> bool:
        """Whether indices or masks differ between the runs."""
        rows = [(self._a.numbers[one.row], self._b.numbers[other.row])
                for one, other in zip(first.outs, second.outs)
                if one.row >= 0 and other.row >= 0 and one.dtype not in UNIT]  # fmt: skip
        return any(len(one) != len(other) or not np.array_equal(one, other) for one, other in rows)

    def _underflow(self, entry: RecordEntry) -> float:
        """The error that the smallest step of float16 makes in what this operator reads or writes."""
        if entry.kind != "op":
            return 0.0
        rounded: list[RecordEntry] = (
            [self._b.entries[number] for number in entry.inputs] if is_product(entry.op) else []
        )
        sizes = [self._mean_size(one) for one in (*rounded, *([entry] if _is_half(entry) else []))]
        return max((min(1.0, _QUANTUM / size) for size in sizes if size > 0), default=0.0)

    def _mean_size(self, entry: RecordEntry) -> float:
        """Of the values, with the factor that a scaler put on them."""
        return measure.mean_size(self._b, entry) * (self._b.scale if entry.phase == "backward" else 1.0)


def _jump(entry: RecordEntry, error_in: float, largest: float) -> float:
    """The share of one value, be it the `largest`, where noise in the input may have moved it over a border."""
    if entry.kind != "op" or canonical(entry.op).lstrip("_") not in _KINKS or not entry.outs:
        return 0.0
    numel = entry.outs[0].numel
    if not _RARE <= numel * error_in <= _OFTEN:
        return 0.0
    return _ONE * max(math.sqrt(max(1.0, numel * error_in) / numel), largest)


def _is_half(entry: RecordEntry) -> bool:
    return any(out.dtype == "float16" for out in entry.outs)


def cancelled(step: RecordedStep, entry: RecordEntry, unit: float) -> float:
    """Where nothing was measured: the error of a sum whose parts take each other away, from the size of its parts."""
    size = measure.mean_size(step, entry)
    if canonical(entry.op) not in _SUMS or size == 0:
        return 0.0
    parts = [(measure.mean_size(step, step.entries[number]), step.entries[number].outs) for number in entry.inputs]
    longest = max((outs[0].numel / max(1, entry.outs[0].numel) for _, outs in parts if outs), default=1.0)
    return unit * max((part for part, _ in parts), default=0.0) * math.sqrt(max(1.0, longest)) / size


def update(change: float, numel: int, gradient: float) -> float:
    """The effect of gradient noise on a weight: one flipped sign, or the noisy share of the whole."""
    return 2 * change * max(1 / math.sqrt(max(1, numel)), min(1.0, gradient))
