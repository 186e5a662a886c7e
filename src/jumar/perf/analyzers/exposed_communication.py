"""Collectives that do not overlap with computing."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.perf.facts import Facts
from jumar.perf.result import MEASURED, MODELLED, Advice, time
from jumar.perf.unit import Unit, brief, times

ADVICE = Unit("PF109", "exposed-communication", "collectives during which the card computes nothing")
SHARE = 0.05


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
        (
            "larger or smaller buckets: DistributedDataParallel(bucket_cap_mb=100, gradient_as_bucket_view=True)",
            "gradient accumulation inside `with model.no_sync():`",
            "async_op=True for your own collectives, and wait() as late as possible",
        ),
    )


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
