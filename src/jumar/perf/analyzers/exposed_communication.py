"""Collectives that do not overlap with computing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.perf import spans
from jumar.perf.facts import Facts
from jumar.perf.result import MEASURED, MODELLED, Advice, time
from jumar.perf.unit import Unit, brief, times
from jumar.tables.perf import collectives

ADVICE = Unit("PF109", "exposed-communication", "collectives during which the card computes nothing")
SHARE = 0.05
PART = 0.1
"""Of the communication that is not hidden: what has less gets no advice of its own."""


def look(facts: Facts) -> Iterator[Advice]:
    exposed = facts.split.communication
    if facts.share(exposed) < SHARE:
        return
    by_type: dict[str, tuple[int, float]] = {}
    for item in facts.profile.comm:
        name = (item.type or item.name).split("__")[0].rstrip("_")
        count, amount = by_type.get(name, (0, 0.0))
        by_type[name] = count + 1, amount + item.duration
    common = sorted(by_type.items(), key=lambda row: -row[1][1])[:4]
    yield Advice(
        ADVICE.id,
        ADVICE.name,
        f"{time(exposed)} of communication does not overlap with computing",
        min(exposed, facts.split.computing),
        MODELLED if facts.profile.modelled else MEASURED,
        (
            f"{facts.share(exposed):.0%} of the time; {time(facts.split.overlapped)} more is hidden",
            *_calls(common),
            *_waiting(facts),
            "upper bound: the computing it can overlap with",
        ),
        tuple(_changes(facts)),
    )


def _changes(facts: Facts) -> Iterator[str]:
    """For the kinds of collectives that the card waits for, longest first."""
    computing = spans.union((item.start, item.end) for item in facts.profile.kernels)
    open_: dict[int, float] = {}
    for item in facts.profile.comm:
        alone = item.duration - spans.total(spans.common([(item.start, item.end)], computing))
        row = _row(item.type or item.name)
        open_[row] = open_.get(row, 0.0) + alone
    whole = sum(open_.values())
    kinds = [row for row, amount in sorted(open_.items(), key=lambda one: -one[1]) if amount >= PART * whole > 0]
    for row in kinds or [len(collectives()) - 1]:
        said = collectives()[row]
        yield from (f"{text}{f' ({said.what})' if len(kinds) > 1 else ''}" for text in said.change)


def _row(name: str) -> int:
    """The row of the table with the longest word of the name; `reducescatter` has `scatter` and `reduce` in it too."""
    plain = re.sub(r"[^a-z]", "", name.split("__")[0].split("(")[0].lower())
    rows = collectives()
    found = [(len(word), number) for number, row in enumerate(rows) for word in row.names if word in plain]
    return max(found)[1] if found else len(rows) - 1


def _calls(rows: list[tuple[str, tuple[int, float]]]) -> tuple[str, ...]:
    texts = [f"{brief(name)}: {times(count, 'call')}, {time(amount)}" for name, (count, amount) in rows]
    return ("; ".join(texts),) if texts else ()


def _waiting(facts: Facts) -> tuple[str, ...]:
    elapsed = sum(row.elapsed for row in facts.profile.collectives)
    wait = sum(row.wait for row in facts.profile.collectives)
    if not elapsed:
        return ()
    size = sum(row.size_mb for row in facts.profile.collectives)
    return (f"{wait / elapsed:.0%} of it is waiting for other ranks; {size:,.0f} MB were sent",)
