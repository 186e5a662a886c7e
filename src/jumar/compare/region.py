"""Stretches that the runs compute with different operators: their results are compared where both runs meet again.

Operators without a partner are not judged themselves. What goes into a stretch is known from the pairs before it, what
comes out of it from the operator that reads it in both runs; between them only the rounding of the stretch may lie.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jumar.compare import measure
from jumar.compare.align import is_quiet
from jumar.compare.floor import EXPECTED
from jumar.compare.handed import Handed
from jumar.compare.precision import UNIT, is_product
from jumar.compare.result import Pair, RecordEntry
from jumar.compare.store import RecordedStep

_EACH = 0.25
"""What each operator of a stretch adds to its rounding, times the square root of their number."""

_FINE = EXPECTED["float32"]


class Region(NamedTuple):
    """One stretch of the forward pass."""

    pair: Pair
    """The operator of both runs that reads its result."""
    error: float
    """Of its result, or of what is computed from it where a layout hides the result."""
    handed: float
    """The error of what went into it."""
    alone: tuple[tuple[str, RecordEntry], ...]
    """Its operators, with the run that calls them."""

    def explained(self, unit: float, limit: float) -> float:
        """The error that rounding explains; `unit` is that of products."""
        called = [entry for _, entry in self.alone]
        return _explained(self.handed, [self.pair.a, self.pair.b, *called], len(called), unit, limit)


def find(a: RecordedStep, b: RecordedStep, matched: Sequence[tuple[RecordEntry, RecordEntry]],
         pairs: Sequence[Pair]) -> list[Region]:  # fmt: skip
    """All stretches of a step, in the order of the first run."""
    partner = {one.index: other.index for one, other in matched}
    known = (set(partner), set(partner.values()))
    handed, found = Handed(a, b, matched), []
    for pair in pairs:
        if measure.is_masked(a, pair.a) or measure.is_masked(b, pair.b):
            handed.leave_out(pair.a, pair.b)
            continue
        handed.put(pair.a, pair.error)
        if pair.a.kind != "op" or pair.a.phase != "forward":
            continue
        for one, other in zip(pair.a.inputs, pair.b.inputs):
            if partner.get(one) == other:
                continue
            alone = (*_alone("A", a, one, known[0]), *_alone("B", b, other, known[1]))
            if alone:
                error = measure.entries(a, a.entries[one], b, b.entries[other])
                least = min(pair.error, error.relative) if error is not None else pair.error
                found.append(Region(pair, least, handed.to(a.entries[one], b.entries[other])[0], alone))
    return found


def to_the_end(
    ends: tuple[Sequence[RecordEntry], Sequence[RecordEntry]], steps: tuple[RecordedStep, RecordedStep],
    pairs: Sequence[Pair], unit: float, limit: float,
) -> float:  # fmt: skip
    """The error that rounding explains in the last result of both runs, such as a loss; infinite if it has a partner.

    Between the pairs and this result lie operators of one run only, and nobody reads it in the forward pass.
    """
    known = {pair.a.index for pair in pairs}, {pair.b.index for pair in pairs}
    handed = Handed(*steps, [(pair.a, pair.b) for pair in pairs])
    for pair in pairs:
        handed.put(pair.a, pair.error)
    for one, other in zip(*ends):
        alone = [*_alone("A", steps[0], one.index, known[0]), *_alone("B", steps[1], other.index, known[1])]
        if alone and not (one.index in known[0] and other.index in known[1]):
            called = [entry for _, entry in alone]
            return _explained(handed.to(one, other)[0], called, len(called), unit, limit)
    return math.inf


def _explained(handed: float, called: Sequence[RecordEntry], count: int, unit: float, limit: float) -> float:
    own = unit if any(map(_is_rough, called)) else _FINE
    return 2 * handed + limit * own * (1 + _EACH * math.sqrt(count))


def _alone(side: str, step: RecordedStep, last: int, known: set[int]) -> Iterator[tuple[str, RecordEntry]]:
    """Operators that only this run calls, back from the one that the stretch ends with."""
    waiting, seen = [last], {last}
    while waiting:
        number = waiting.pop()
        if number in known:
            continue
        entry = step.entries[number]
        if counts(entry):
            yield side, entry
        fresh = [one for one in entry.inputs if one not in seen]
        seen.update(fresh)
        waiting += fresh


def _is_rough(entry: RecordEntry) -> bool:
    """Products, and whatever computes in less than float32."""
    return is_product(entry.op) or any(UNIT.get(out.dtype, 0.0) > _FINE for out in entry.outs)


def counts(entry: RecordEntry) -> bool:
    """Whether an operator computes something in the forward pass: copies and casts do not."""
    measured = any(out.row >= 0 and out.dtype in UNIT for out in entry.outs)
    return entry.kind == "op" and entry.phase == "forward" and measured and not is_quiet(entry)
