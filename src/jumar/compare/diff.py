"""Compares two records step by step: pairs of operators, error over floor, and what is on one side only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from jumar.compare import arguments, floor, measure, reader, region, spread
from jumar.compare.align import align, canonical, left_over
from jumar.compare.floor import Floor
from jumar.compare.handed import Handed
from jumar.compare.precision import UNIT
from jumar.compare.region import Region
from jumar.compare.result import Pair, RecordEntry
from jumar.compare.spread import Spread
from jumar.compare.store import Rank, RecordedStep

_CHOICES = ("arg", "sort", "topk", "max", "min", "mode", "median", "kthvalue", "unique", "multinomial")


class Stepped(NamedTuple):
    """One step of both runs, side by side."""

    number: int
    pairs: list[Pair]
    only_a: list[RecordEntry]
    only_b: list[RecordEntry]
    regions: list[Region]
    """Of the first step only: what the runs compute with different operators."""


def steps(a: Rank, b: Rank, noise: Floor, precision: str = "") -> list[Stepped]:
    """All steps that both records have whole."""
    found: list[Stepped] = []
    flips: dict[str, float] = {}
    for number in sorted(set(a.steps) & set(b.steps)):
        first, second = (reader.unscaled(reader.step(rank, number)) for rank in (a, b))
        found.append(step(first, second, b, noise, precision, flips))
    return found


def step(
    a: RecordedStep,
    b: RecordedStep,
    rank: Rank,
    noise: Floor,
    precision: str = "",
    flips: dict[str, float] | None = None,
) -> Stepped:
    """One step; `flips` carries what noise in a gradient can do to a weight from one step to the next."""
    precision = precision or floor.precision(a.entries, b.entries, rank.meta)
    matched = align(a.entries, b.entries)
    before = flips if flips is not None else {}
    sides = _Sides(a, b, noise, floor.EXPECTED[precision], Spread(a, b, precision), before, _changes(a), matched)
    pairs = [pair for first, second in matched if (pair := sides.pair(first, second)) is not None]
    before.update({name: sides.update(name) for name in sides.changes})
    return Stepped(
        a.number,
        pairs,
        left_over(a.entries, {first.index for first, _ in matched}),
        left_over(b.entries, {second.index for _, second in matched}),
        region.find(a, b, matched, pairs) if a.number == 0 else [],
    )


def _changes(step: RecordedStep) -> dict[str, tuple[float, int]]:
    """By weight: how much the optimizer changed it, and its size.

    Adam and its like divide by the size of the gradient: where that is close to 0, noise alone decides the sign.
    """
    weights = {entry.name: entry for entry in step.entries if entry.kind == "weight"}
    found = {}
    for entry in step.entries:
        if entry.kind != "state" or " of " in entry.name:
            continue
        # A weight that was made inside the record is the result of an operator.
        before = weights.get(entry.name) or next((step.entries[number] for number in entry.inputs), None)
        change = measure.entries(step, entry, step, before) if before is not None else None
        if change is not None:
            found[entry.name] = change.relative, entry.outs[0].numel
    return found


class _Sides:
    """What all pairs of a step are judged with."""

    def __init__(self, a: RecordedStep, b: RecordedStep, noise: Floor, unit: float, spread: Spread,
                 before: dict[str, float], changes: dict[str, tuple[float, int]],
                 matched: Sequence[tuple[RecordEntry, RecordEntry]]) -> None:  # fmt: skip
        self._a, self._b = a, b
        self._noise, self._unit, self._spread = noise, unit, spread
        self._before = before
        self.changes = changes
        self._overs: dict[int, float] = {}
        self._handed = Handed(a, b, matched)

    def update(self, name: str) -> float:
        """The relative error that noise in its gradient may make in a weight."""
        change, numel = self.changes.get(name, (0.0, 1))
        return spread.update(change, numel, self._spread.gradients.get(name, 0.0))

    def _small_gradient(self, entry: RecordEntry) -> float:
        """Gradients that ought to be 0, such as those of the bias of keys, are the rounding of large ones."""
        sizes = [measure.mean_size(self._a, one) for one in self._a.entries if one.kind == "grad"]
        size = measure.mean_size(self._a, entry)
        return self._unit * max(sizes) / size if size > 0 else 0.0

    def pair(self, first: RecordEntry, second: RecordEntry) -> Pair | None:
        a, b = self._a, self._b
        changed = arguments.differ(first, second)
        measured = bool(self._noise.errors)
        error = measure.entries(a, first, b, second, main=not measured)
        if error is None:
            if not changed:
                return None
            return Pair(a.number, first, second, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, changed)
        error_in = _inputs(a, first, b, second)
        own = {"state": self.update(first.name), "weight": self._before.get(first.name, 0.0)}.get(first.kind, 0.0)
        beside = self._spread.at(first, second, error.relative, error_in, own)
        if not measured:
            beside = max(beside, spread.cancelled(a, first, self._unit))
        handed, between = self._handed.to(first, second)
        if first.kind == "grad" and between and not measured:
            beside = max(beside, self._small_gradient(first))
        expected = max(self._noise.at(a.number, first, second, self._unit, handed, between), beside)
        local = max(self._noise.at(a.number, first, second, self._unit, 0.0, between), beside)
        self._handed.put(first, error.relative)
        over = error.relative / expected
        if first.kind == "op" and (measure.is_masked(a, first) or measure.is_masked(b, second)):
            self._handed.leave_out(first, second)
            over = min(over, 1.0)
        elif not _judged(first, error_in):
            over = min(over, 1.0)
        self._overs[first.index] = over
        over_in = max((self._overs.get(number, 0.0) for number in first.inputs), default=0.0)
        return Pair(
            a.number, first, second, error.relative, error.cosine, expected, error_in, over, over_in, changed, local
        )


def _judged(entry: RecordEntry, error_in: float) -> bool:
    """Masks and indices flip where a value is close to a border; out of equal values they must be equal.

    Of equal values any may be the largest: a choice between them is not judged.
    """
    if entry.kind != "op" or any(out.dtype in UNIT for out in entry.outs):
        return True
    return error_in == 0 and not canonical(entry.op).startswith(_CHOICES)


def _inputs(a: RecordedStep, first: RecordEntry, b: RecordedStep, second: RecordEntry) -> float:
    """The largest error of the inputs; nan where they cannot be compared."""
    worst = 0.0 if len(first.inputs) == len(second.inputs) else math.nan
    for one, other in zip(first.inputs, second.inputs):
        error = measure.entries(a, a.entries[one], b, b.entries[other])
        if error is not None:
            worst = max(worst, error.relative)
        elif _measured(a.entries[one]) or _measured(b.entries[other]):
            return math.nan
    return worst


def _measured(entry: RecordEntry) -> bool:
    return any(out.row >= 0 for out in entry.outs)
