"""Operators that only one run calls although its numbers agree: on the same device that is another program.

On two devices one operator may be several, and numbers alone count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from jumar.compare.align import is_quiet
from jumar.compare.diff import Stepped
from jumar.compare.precision import UNIT
from jumar.compare.result import RecordEntry


def find(steps: Sequence[Stepped]) -> tuple[str, list[RecordEntry]]:
    """`A` or `B`, and what only that run calls inside its modules, where the other calls nothing in its place."""
    for step in steps:
        forward = [(pair.a.index, pair.b.index) for pair in step.pairs
                   if pair.a.kind == "op" and pair.a.phase == "forward"]  # fmt: skip
        ours, theirs = ([entry for entry in side if _counts(entry)] for side in (step.only_a, step.only_b))
        used = _used(step.only_a, [pair.a for pair in step.pairs]), _used(step.only_b, [pair.b for pair in step.pairs])
        for side, mine, other, places, needed in (
            ("B", theirs, ours, [(b, a) for a, b in forward], used[1]),
            ("A", ours, theirs, forward, used[0]),
        ):
            found = [one for one in mine if one.index in needed and not _replaced(one, other, sorted(places))]
            if found:
                return side, found
    return "", []


def _used(alone: Sequence[RecordEntry], matched: Sequence[RecordEntry]) -> set[int]:
    """What operators of both runs compute with: a value that is only printed changes nothing."""
    needed = {number for entry in matched if entry.kind == "op" for number in entry.inputs}
    for entry in sorted(alone, key=lambda one: -one.index):
        if entry.index in needed:
            needed.update(entry.inputs)
    return needed


def _counts(entry: RecordEntry) -> bool:
    measured = any(out.row >= 0 and out.dtype in UNIT for out in entry.outs)
    return entry.kind == "op" and entry.phase == "forward" and measured and bool(entry.module) and not is_quiet(entry)


def _replaced(entry: RecordEntry, other: Sequence[RecordEntry], places: list[tuple[int, int]]) -> bool:
    """Whether the other run calls something of its own between the same two neighbours."""
    at = bisect_left(places, (entry.index, -1))
    low = places[at - 1][1] if at else -1
    high = places[at][1] if at < len(places) else float("inf")
    return any(low < one.index < high for one in other)
