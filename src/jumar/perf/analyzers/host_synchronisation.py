"""Places where the host waits for the card: `.item()`, nonzero, prints, copies; the card then runs dry."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.perf import spans
from jumar.perf.facts import Facts
from jumar.perf.places import inside, place
from jumar.perf.profile import HostOp
from jumar.perf.result import MEASURED, MODELLED, Advice, time
from jumar.perf.unit import Unit, times
from jumar.tables.perf import Sync, syncs

ADVICE = Unit("PF104", "host-synchronisation", "the host waits for a value of the card, then the card for the host")

LEAST = 0.0005
"""Share of the time of a measured profile: where the card had other work to do, waiting cost nothing."""


def look(facts: Facts) -> Iterator[Advice]:
    rows = syncs()
    if not facts.profile.host:
        yield from _from_table(facts)
        return
    found: dict[tuple[Sync, str], list[tuple[HostOp, float]]] = {}
    seen: set[int] = set()
    until: dict[int, float] = {}
    for op in facts.profile.host:
        row = rows.get(op.name)
        if row is None or op.end <= until.get(op.thread, -1.0) or not _waits(facts, op):
            continue
        until[op.thread] = op.end
        gap = spans.containing(facts.idle, op.end)
        cost = 0.0
        if gap >= 0 and gap not in seen:
            seen.add(gap)
            cost = facts.idle[gap][1] - max(facts.idle[gap][0], op.start)
        found.setdefault((row, place(op.stack)), []).append((op, cost))
    merged: dict[tuple[str, str], list[tuple[HostOp, float]]] = {}
    by_key = {(row.what, where): row for row, where in found}
    for (row, where), items in found.items():
        merged.setdefault((row.what, where), []).extend(items)
    for key, items in merged.items():
        row = by_key[key]
        cost = sum(item[1] for item in items)
        if facts.is_measured and cost < LEAST * facts.split.total:
            continue
        yield Advice(
            ADVICE.id,
            f"{ADVICE.name}: {_short(items[0][0].name)}",
            f"{row.what}: the host waited {times(len(items), 'time')}",
            cost,
            MODELLED if facts.profile.modelled else MEASURED,
            (*_library(items), *_idle(facts, cost), *_per_step(facts, len(items))),
            (row.change,),
            key[1],
        )


def _library(items: list[tuple[HostOp, float]]) -> tuple[str, ...]:
    found = list(dict.fromkeys(library for op, _ in items if (library := inside(op.stack))))
    return (f"in {', '.join(found[:3])}",) if found else ()


def _idle(facts: Facts, cost: float) -> tuple[str, ...]:
    return (f"the card was idle for {time(cost)} around it",) if facts.split.total else ()


def _from_table(facts: Facts) -> Iterator[Advice]:
    """Without a trace, operator_details.csv still says how often, and where from."""
    for name, row in syncs().items():
        calls, spent, _, stack = facts.profile.operators.get(name, (0, 0.0, 0.0, ""))
        if calls:
            yield Advice(
                ADVICE.id,
                f"{ADVICE.name}: {_short(name)}",
                f"{row.what}: {times(calls, 'call')}, some of them may be on host tensors",
                0.0,
                MEASURED,
                (f"host time {time(spent)}; no trace shows how long the card was idle",),
                (row.change,),
                place(stack),
            )


def _short(name: str) -> str:
    return name.removeprefix("aten::").replace("_local_scalar_dense", "item").strip("_")


def _waits(facts: Facts, op: HostOp) -> bool:
    """`.item()` of a tensor of the host does not wait: a waiting call of CANN must lie inside, if those are known."""
    if not facts.profile.calls:
        return True
    at = spans.containing(facts.profile.waits, op.end)
    if at >= 0:
        return True
    return bool(spans.common([(op.start, op.end)], _around(facts.profile.waits, op)))


def _around(waits: list[spans.Span], op: HostOp) -> list[spans.Span]:
    from bisect import bisect_left

    begin = max(0, bisect_left(waits, (op.start, 0.0)) - 1)
    return waits[begin : begin + 64]


def _per_step(facts: Facts, count: int) -> tuple[str, ...]:
    steps = len(facts.profile.steps)
    return (f"{count / steps:.1f} times in each of {steps} steps",) if steps else ()
