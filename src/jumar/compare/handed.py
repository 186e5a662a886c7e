"""What errors an operator may have got from others: only those of producers that have a partner in the other run.

An operator that only one run calls may compute anything. Its result is no excuse for what is computed from it: what
went into it is, as far as it comes from operators of both runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from jumar.compare.precision import UNIT
from jumar.compare.result import RecordEntry
from jumar.compare.store import RecordedStep

_FARTHEST = 256
"""Operators without a partner that are gone through."""


class Handed:
    """Errors of the pairs so far, in the order of the first run."""

    def __init__(self, a: RecordedStep, b: RecordedStep, matched: Sequence[tuple[RecordEntry, RecordEntry]]) -> None:
        self._sides = (a.entries, b.entries)
        self._pair_of = ({one.index: one.index for one, _ in matched}, {two.index: one.index for one, two in matched})
        self._errors: dict[int, float] = {}

    def leave_out(self, first: RecordEntry, second: RecordEntry) -> None:
        """A pair that says nothing itself hands on what came into it."""
        self._pair_of[0].pop(first.index, None)
        self._pair_of[1].pop(second.index, None)

    def put(self, first: RecordEntry, error: float) -> None:
        self._errors[first.index] = error if any(out.dtype in UNIT for out in first.outs) else 0.0

    def to(self, first: RecordEntry, second: RecordEntry) -> tuple[float, int]:
        """The largest error that comes in, and the number of operators without a partner on its way."""
        found = [self._behind(side, entry.inputs) for side, entry in enumerate((first, second))]
        return max(error for error, _ in found), max(count for _, count in found)

    def _behind(self, side: int, inputs: Sequence[int]) -> tuple[float, int]:
        entries, pair_of = self._sides[side], self._pair_of[side]
        waiting, seen = list(inputs), set(inputs)
        worst, alone = 0.0, 0
        while waiting and alone < _FARTHEST:
            number = waiting.pop()
            if number in pair_of:
                worst = max(worst, self._errors.get(pair_of[number], 0.0))
                continue
            alone += entries[number].kind == "op"
            fresh = [one for one in entries[number].inputs if one not in seen]
            seen.update(fresh)
            waiting += fresh
        return worst, alone
