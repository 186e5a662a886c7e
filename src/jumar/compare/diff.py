"""Compares two records step by step: pairs of operators, error over floor, and what is on one side only."""

from __future__ import annotations

import math
from typing import NamedTuple

from jumar.compare import arguments, floor, measure, reader
from jumar.compare.align import align, left_over
from jumar.compare.floor import Floor
from jumar.compare.precision import UNIT
from jumar.compare.result import Entry, Pair
from jumar.compare.store import Rank, Step


class Stepped(NamedTuple):
    """One step of both runs, side by side."""

    number: int
    pairs: list[Pair]
    only_a: list[Entry]
    only_b: list[Entry]


def steps(a: Rank, b: Rank, noise: Floor, precision: str = "") -> list[Stepped]:
    """All steps that both records have whole."""
    found: list[Stepped] = []
    flips: dict[str, float] = {}
    for number in sorted(set(a.steps) & set(b.steps)):
        found.append(step(reader.step(a, number), reader.step(b, number), b, noise, precision, flips))
    return found


def step(
    a: Step, b: Step, rank: Rank, noise: Floor, precision: str = "", flips: dict[str, float] | None = None
) -> Stepped:
    """One step; `flips` carries what a changed sign in an update can do from one step to the next."""
    unit = floor.EXPECTED[precision or floor.precision(a.entries, b.entries, rank.meta)]
    matched = align(a.entries, b.entries)
    after = _flips(a)
    before = flips if flips is not None else {}
    overs: dict[int, float] = {}
    pairs = []
    for first, second in matched:
        allowed = {"state": after, "weight": before}.get(first.kind, {}).get(first.name, 0.0)
        pair = _pair(a, first, b, second, noise, unit, overs, allowed)
        if pair is not None:
            pairs.append(pair)
    before.update(after)
    return Stepped(
        a.number,
        pairs,
        left_over(a.entries, {first.index for first, _ in matched}),
        left_over(b.entries, {second.index for _, second in matched}),
    )


def _flips(step: Step) -> dict[str, float]:
    """By weight: the relative error of one element whose update has the other sign.

    Adam and its like divide by the size of the gradient: where that is close to 0, noise alone decides the sign.
    """
    weights = {entry.name: entry for entry in step.entries if entry.kind == "weight"}
    found = {}
    for entry in step.entries:
        if entry.kind == "state" and entry.name in weights:
            change = measure.entries(step, entry, step, weights[entry.name])
            if change is not None:
                found[entry.name] = 2 * change.relative / max(1, entry.outs[0].numel) ** 0.5
    return found


def _pair(
    a: Step, first: Entry, b: Step, second: Entry, noise: Floor, unit: float, overs: dict[int, float], flip: float
) -> Pair | None:
    changed = arguments.differ(first, second)
    error = measure.entries(a, first, b, second)
    if error is None:
        if not changed:
            return None
        return Pair(a.number, first, second, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, changed)
    error_in = _inputs(a, first, b, second)
    expected = max(noise.at(a.number, first, second, unit, error_in), flip)
    over = error.relative / expected
    if not _judged(first):
        over = min(over, 1.0)
    overs[first.index] = over
    over_in = max((overs.get(number, 0.0) for number in first.inputs), default=0.0)
    return Pair(a.number, first, second, error.relative, error.cosine, expected, error_in, over, over_in, changed)


def _judged(entry: Entry) -> bool:
    """Masks and indices flip where a value is close to a border; only those from outside must be equal."""
    return entry.kind != "op" or any(out.dtype in UNIT for out in entry.outs)


def _inputs(a: Step, first: Entry, b: Step, second: Entry) -> float:
    """The largest error of the inputs; nan where they cannot be compared."""
    worst = 0.0 if len(first.inputs) == len(second.inputs) else math.nan
    for one, other in zip(first.inputs, second.inputs, strict=False):
        error = measure.entries(a, a.entries[one], b, b.entries[other])
        if error is not None:
            worst = max(worst, error.relative)
        elif _measured(a.entries[one]) or _measured(b.entries[other]):
            return math.nan
    return worst


def _measured(entry: Entry) -> bool:
    return any(out.row >= 0 for out in entry.outs)
