"""The first operator that makes inf or nan out of finite inputs, over all ranks."""

from __future__ import annotations

from collections.abc import Sequence

from jumar.compare import reader
from jumar.compare.align import canonical
from jumar.compare.result import STATS, RecordEntry
from jumar.compare.store import Rank, RecordedStep
from jumar.core.compat import dataclass

_MEANT = ("full", "full_like", "new_full", "fill", "masked_fill", "where", "scalar_tensor", "triu", "tril", "empty")
"""Operators that write an infinity because they were told to, such as an attention mask."""


_BAD = [STATS.index("nan"), STATS.index("inf")]


@dataclass(frozen=True, slots=True)
class Overflow:
    rank: int
    step: int
    entry: RecordEntry
    nan: int
    inf: int
    largest_in: float
    """The largest value that went in."""


def in_step(step: RecordedStep) -> bool:
    """Whether an operator of this step makes some."""
    return bool(step.numbers[:, _BAD].any()) and _in_step(0, step) is not None


def in_forward(step: RecordedStep) -> bool:
    """The same without gradients: a scaler tries large factors, and skips a step that was too large."""
    return in_step(step._replace(entries=[entry for entry in step.entries if entry.phase == "forward"]))


def first(ranks: Sequence[Rank]) -> list[Overflow]:
    """The first of each rank that has one, the earliest step first."""
    found = []
    for rank in ranks:
        for number in sorted(rank.steps):
            one = _in_step(rank.number, reader.step(rank, number))
            if one is not None:
                found.append(one)
                break
    return sorted(found, key=_order)


def _order(one: Overflow) -> tuple[int, bool, int, int]:
    """A collective only hands on what another rank made."""
    return one.step, "c10d" in one.entry.op.split(".")[0], one.entry.index, one.rank


def _in_step(rank: int, step: RecordedStep) -> Overflow | None:
    for entry in step.entries:
        found = bad(step, entry)
        if not any(found) or any(any(bad(step, step.entries[number])) for number in entry.inputs):
            continue
        if not found[0] and (canonical(entry.op) in _MEANT or "inf" in str(list(entry.args.values()))):
            continue
        return Overflow(rank, step.number, entry, *found, largest(step, entry))
    return None


def bad(step: RecordedStep, entry: RecordEntry) -> tuple[int, int]:
    """How many nan and inf it made."""
    rows = [step.numbers[out.row] for out in entry.outs if out.row >= 0]
    nan, inf = (int(sum(row[column] for row in rows)) for column in _BAD)
    return nan, inf


def largest(step: RecordedStep, entry: RecordEntry) -> float:
    """Of the values that went into it."""
    rows = [step.numbers[out.row] for number in entry.inputs for out in step.entries[number].outs if out.row >= 0]
    return max((float(max(abs(row[0]), abs(row[1]))) for row in rows), default=0.0)
