"""What noise is expected at each operator: the error that runs with rounding-size noise show, scaled to the precision.

After TTrace (arXiv 2506.09280): a tolerance is measured by perturbing the reference, not written down. Error grows in
proportion to the size of the noise as long as it is small, so a floor taken with one precision serves another.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from jumar.compare import measure, reader
from jumar.compare.align import align
from jumar.compare.precision import UNIT, is_product
from jumar.compare.result import RecordEntry
from jumar.compare.store import Rank, RecordedStep

FLOORS = "floor-"
OWN = 2e-7
"""Relative error of the sketch itself: float32 sums."""
SIZES = (2.0**-8, 2.0**-11, 2.0**-22)
"""Noise that floors are measured with: bfloat16, float16 and hf32, and float32 with sums in another order."""
EXPECTED = {**UNIT, "float32": SIZES[-1], "float64": SIZES[-1]}
"""Rounding by precision; long sums in float32 are worth some roundings, and sketches see no finer."""
_LOCAL = 4.0
"""Without measured noise: errors of the inputs may double, and some roundings are added."""
_FEW = 8
"""Values up to which the error of a noise run is chance: that of a single number may be 0."""

_EACH = 0.25
"""What operators that only one run calls add to that, times the square root of their number."""


class Floor(NamedTuple):
    """Expected relative error by step and operator of the reference, for each rounding it was measured with."""

    source: str
    errors: dict[float, dict[tuple[int, int], float]]
    """By size of the noise; 0 for base runs that differ by themselves: their error counts as it is."""

    def at(
        self, step: int, entry: RecordEntry, other: RecordEntry, unit: float, handed: float, alone: int = 0
    ) -> float:
        """`handed` is the largest error of what partners handed on, over `alone` operators that have no partner."""
        least = max(2 * _rounding(entry), 2 * _narrower(entry, other, unit), OWN)
        known = [(size, table[step, entry.index]) for size, table in sorted(self.errors.items())
                 if (step, entry.index) in table]  # fmt: skip
        measured = max(least, between(known, unit)) if known else least
        if known and max((out.numel for out in entry.outs), default=0) > _FEW:
            return measured
        own = _LOCAL * unit * (1 + _EACH * math.sqrt(alone))
        return max(measured, (2 * handed if handed < math.inf else 0.0) + own)


def between(known: list[tuple[float, float]], unit: float) -> float:
    """The error for a rounding between measured ones: on a line in the logarithms, beyond them in proportion."""
    if known[0][0] == 0:
        return known[0][1]
    if len(known) == 1 or unit <= known[0][0]:
        size, error = known[0]
        return error * unit / size if unit <= size else min(error * unit / size, max(error, 1.0))
    if unit >= known[-1][0]:
        return known[-1][1] * unit / known[-1][0]
    at = next(place for place, (size, _) in enumerate(known) if size > unit)
    (low, error), (high, other) = known[at - 1], known[at]
    error, other = max(error, OWN / 10), max(other, OWN / 10)
    return float(error * (other / error) ** (math.log(unit / low) / math.log(high / low)))


def _rounding(entry: RecordEntry) -> float:
    return max((UNIT.get(out.dtype, 0.0) for out in entry.outs if out.row >= 0), default=0.0)


def _narrower(entry: RecordEntry, other: RecordEntry, unit: float) -> float:
    """The rounding of the other run: products may be narrower than most, a norm or a sum may not."""
    own = _rounding(other)
    return own if is_product(other.op) else min(own, max(unit, _rounding(entry)))


def find(base: Rank, given: Sequence[Path] = ()) -> Floor:
    """The floor of a rank: from the runs that are named, from those beside the record, or none."""
    runs = [_same_rank(path, base.number) for path in given]
    source = "base runs" if runs else ""
    if not runs:
        runs = runs_beside(base)
    if not runs:
        return Floor("none", {})
    errors: dict[float, dict[tuple[int, int], float]] = {noise_of(run): {} for run in runs}
    for number in base.steps:
        reference = reader.unscaled(reader.step(base, number))
        for run in runs:
            if number in run.steps:
                _add(errors[noise_of(run)], reference, reader.unscaled(reader.step(run, number)))
    return Floor(source or f"{len(runs)} runs with rounding noise", errors)


def runs_beside(base: Rank) -> list[Rank]:
    """The noise runs of a record that came to their end."""
    places = [path for path in sorted(base.path.parent.glob(f"{FLOORS}*")) if any(path.glob("rank*/meta.json"))]
    runs = [_same_rank(path, base.number) for path in places]
    return [run for run in runs if run.meta.get("ended", "finished") == "finished"]


def _same_rank(path: Path, number: int) -> Rank:
    found = reader.ranks(path)
    return next((rank for rank in found if rank.number == number), found[0])


def noise_of(run: Rank) -> float:
    """The size of the noise in a run; 0 for a base run."""
    words = str(run.meta.get("altered", "")).split()
    try:
        return float(words[1]) if words[:1] == ["noise"] else 0.0
    except (IndexError, ValueError):
        return 0.0


def _add(errors: dict[tuple[int, int], float], reference: RecordedStep, noisy: RecordedStep) -> None:
    for first, second in align(reference.entries, noisy.entries):
        error = measure.entries(reference, first, noisy, second)
        if error is not None:
            key = (reference.number, first.index)
            errors[key] = max(errors.get(key, 0.0), error.relative)


def precision(a: Sequence[RecordEntry], b: Sequence[RecordEntry], meta_b: dict[str, object]) -> str:
    """The precision of most products of the less precise run: what its rounding noise comes from."""
    altered = str(meta_b.get("altered", ""))
    if altered in UNIT:
        return altered
    found = max((_most(side) for side in (a, b)), key=lambda name: UNIT[name])
    return _of_products(b, meta_b) if found == "float32" else found


def _of_products(entries: Sequence[RecordEntry], meta: dict[str, object]) -> str:
    """Of float32 products on a card: what the record says, or what torch_npu does unless told otherwise."""
    real = str(meta.get("device")) == "npu" and not meta.get("emulated")
    told = meta.get("products") or ({"convolution": "hf32"} if real else {})
    found = ["float32"]
    for entry in entries:
        kind = "convolution" if "conv" in entry.op else "matmul" if is_product(entry.op) else ""
        if kind and isinstance(told, dict):
            found.append(str(told.get(kind, "float32")))
    return max(found, key=lambda name: UNIT[name])


def _most(entries: Sequence[RecordEntry]) -> str:
    products: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for entry in entries:
        if entry.kind == "op" and entry.outs and entry.outs[0].dtype in UNIT:
            (products if is_product(entry.op) else others)[entry.outs[0].dtype] += 1
    common = (products or others or Counter({"float32": 1})).most_common(1)
    return common[0][0]
