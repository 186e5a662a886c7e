"""The allocator holds much more memory than tensors ever used."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.perf.facts import Facts
from jumar.perf.profile import Memory
from jumar.perf.result import MEASURED, MODELLED, Advice
from jumar.perf.unit import Unit

ADVICE = Unit("PF110", "memory-fragmentation", "memory that is reserved but too fragmented to be used")
SHARE = 0.25
LEAST = 1024.0
"""MB: below, holes do not matter."""


def look(facts: Facts) -> Iterator[Advice]:
    memory = facts.profile.memory
    if memory is None:
        return
    lost = memory.reserved - memory.allocated
    if lost < SHARE * memory.reserved or memory.reserved < LEAST:
        return
    yield Advice(
        ADVICE.id,
        ADVICE.name,
        f"{lost:,.0f} MB of {memory.reserved:,.0f} MB reserved were never used",
        0.0,
        MODELLED if facts.profile.modelled else MEASURED,
        (
            f"peak of tensors {memory.allocated:,.0f} MB{_held(memory)}",
            "saves memory for a larger batch, not time",
        ),
        (
            "export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True",
            "batches of equal shape, so that blocks fit again",
        ),
    )


def _held(memory: Memory) -> str:
    """Who held most of it then; blocks from before the profile began are not among them."""
    if not memory.held:
        return ""
    return "; then in blocks of " + ", ".join(f"{name} {size:,.0f} MB" for name, size in memory.held)
