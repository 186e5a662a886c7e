"""Many kernels that end before the host has sent the next one: the card waits between them."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.perf.facts import Facts
from jumar.perf.result import MODELLED, Advice, time
from jumar.perf.unit import Unit, brief, times

ADVICE = Unit("PF106", "many-small-kernels", "kernels so short that sending them takes longer than running them")
MANY = 50
SHORT = 10.0
"""Microseconds: sending an operator takes about as long."""
SHARE = 0.2
"""Of the time in which the card waits for the host: below, sending is not what costs."""


def look(facts: Facts) -> Iterator[Advice]:
    kernels = facts.profile.kernels
    short = [item for item in kernels if item.duration < SHORT]
    if len(short) < max(MANY, 0.5 * len(kernels)) or facts.host_bound < SHARE:
        return
    types: dict[str, int] = {}
    for item in short:
        types[item.type or item.name] = types.get(item.type or item.name, 0) + 1
    common = sorted(types, key=lambda name: -types[name])[:5]
    each = facts.split.host / len(kernels)
    yield Advice(
        ADVICE.id,
        ADVICE.name,
        f"{times(len(short), 'kernel')} of {len(kernels):,} are shorter than {SHORT:.0f} us, and the card waits for the"
        f" host {facts.host_bound:.0%} of the time",
        facts.split.host * 0.5,
        MODELLED,
        (
            "most often: " + ", ".join(f"{brief(name)} ({types[name]:,})" for name in common),
            f"{time(each)} of waiting for each kernel; half of it, minus what other advice saves, counts as avoidable",
        ),
        (
            "a larger batch, so that each kernel has more to do",
            "fused operators and a fused optimizer (see the other advice)",
            "export TASK_QUEUE_ENABLE=2; export CPU_AFFINITY_CONF=2",
        ),
    )
