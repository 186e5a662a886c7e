"""Finds free cards."""

from __future__ import annotations

from jumar.machine.smi.result import Card

MEMORY = 20.0
"""Percent of its memory that an idle card may show as used: CANN's own share is some 5 on a 910B."""
MEMORY_UNLISTED = 50.0
"""The same where no processes are listed: a 310B shares its memory with the host."""


def why_not(card: Card) -> str:
    """The reason why a card is not free; empty if it is."""
    # A 310B's board reports Alarm for a missing current sensor: harmless, and always there.
    if card.health != "OK" and not (card.name.startswith("310B") and card.health == "Alarm"):
        return f"health is {card.health}"
    if card.processes:
        return f"used by process {', '.join(str(item.pid) for item in card.processes)}"
    percent = card.used_percent
    limit = MEMORY if card.processes is not None else MEMORY_UNLISTED
    if percent is None:
        return "its memory is not reported"
    if percent > limit:
        return f"{percent:.0f}% of its memory is used"
    if card.processes is None and card.busy:
        return f"its AI cores are {card.busy}% busy"
    return ""
