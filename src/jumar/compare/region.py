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
from jumar.compare.handed import Handed
from jumar.compare.precision import UNIT
from jumar.compare.result import Pair, RecordEntry
from jumar.compare.store import RecordedStep

_EACH = 0.25
"""What each operator of a stretch adds to its rounding, times the square root of their number."""


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
        """The error that rounding explains."""
        return 2 * self.handed + limit * unit * (1 + _EACH * math.sqrt(len(self.alone)))


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


def counts(entry: RecordEntry) -> bool:
    """Whether an operator computes something in the forward pass: copies and casts do not."""
    measured = any(out.row >= 0 and out.dtype in UNIT for out in entry.outs)
    return entry.kind == "op" and entry.phase == "forward" and measured and not is_quiet(entry)
