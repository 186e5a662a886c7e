"""Which operator made the inf or nan that a pair shows: it may have no partner in the other run."""

from __future__ import annotations

from collections.abc import Sequence

from jumar.compare import overflow
from jumar.compare.precision import LARGEST
from jumar.compare.result import Pair, RecordEntry, Verdict
from jumar.compare.store import RecordedStep
from jumar.compare.verdict import name, place


def blame(told: Verdict, a: RecordedStep, b: RecordedStep, pairs: Sequence[Pair]) -> Verdict:
    """The same verdict, at the operator whose inputs were still finite; as it was if that is the pair's own."""
    pair = told.pair
    if told.kind != "overflow" or pair is None:
        return told
    in_a = sum(overflow.bad(a, pair.a)) > sum(overflow.bad(b, pair.b))
    side, step, last = ("A", a, pair.a) if in_a else ("B", b, pair.b)
    shared = {(one.a if in_a else one.b).index for one in pairs if one.step == pair.step and one.error != float("inf")}
    made = _first(step, last, shared)
    if made is last:
        return told
    largest = overflow.largest(step, made)
    return Verdict(
        "overflow",
        f"{place(made)} makes inf or nan in {side} only; {name(pair)} is the first operator of both runs that shows it",
        _meaning(made, largest) or told.meaning,
        pair,
        (f"only in {side}: {place(made)}",),
    )


def _first(step: RecordedStep, last: RecordEntry, shared: set[int]) -> RecordEntry:
    """The earliest operator on the way to `last` that made some; those of both runs, such as a mask, are meant."""
    waiting, seen, first = [last], {last.index}, last
    while waiting:
        entry = waiting.pop()
        if entry.index < first.index:
            first = entry
        fresh = [step.entries[number] for number in entry.inputs if number not in seen and number not in shared]
        seen.update(entry.inputs)
        waiting += [one for one in fresh if one.kind == "op" and any(overflow.bad(step, one))]
    return first


def _meaning(made: RecordEntry, largest: float) -> str:
    dtype = made.outs[0].dtype if made.outs else ""
    limit = LARGEST.get(dtype, float("inf"))
    if not limit < largest < float("inf"):
        return ""
    return f"{dtype} holds values up to {limit:.5g}, and {largest:.3g} went in: scale it, or compute it in bfloat16"
