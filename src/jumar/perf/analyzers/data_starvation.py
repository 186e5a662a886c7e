"""The card is idle while the program waits for the next batch."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.perf.facts import Facts
from jumar.perf.places import places
from jumar.perf.profile import DATA
from jumar.perf.result import MEASURED, MODELLED, Advice, time
from jumar.perf.unit import Unit, times

ADVICE = Unit("PF108", "data-starvation", "the card waits while the DataLoader makes a batch")
SHARE = 0.02


def look(facts: Facts) -> Iterator[Advice]:
    if facts.share(facts.split.data) < SHARE:
        return
    waits = [op for op in facts.profile.host if op.name.startswith(DATA)]
    alone = any("SingleProcess" in op.name for op in waits)
    longest = max(op.end - op.start for op in waits)
    change = ("DataLoader(num_workers=8, persistent_workers=True, prefetch_factor=4)",) if alone else ()
    yield Advice(
        ADVICE.id,
        ADVICE.name,
        f"the card is idle for {time(facts.split.data)} in {times(len(waits), 'wait')} for a batch",
        facts.split.data,
        MODELLED if facts.profile.modelled else MEASURED,
        (
            f"{facts.share(facts.split.data):.0%} of the time; the longest wait is {time(longest)}",
            "the DataLoader runs in the training process" if alone else "the DataLoader has worker processes",
        ),
        (
            *change,
            "pin_memory=True and `.to(device, non_blocking=True)`",
            "decode and resize once beforehand, or with fewer steps for each sample",
        ),
        places(waits),
    )
