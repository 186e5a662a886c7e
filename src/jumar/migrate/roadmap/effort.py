"""How long the work on a cause takes, as a range from what public ports changed."""

from __future__ import annotations

from jumar.migrate.roadmap.result import Effort
from jumar.tables import effort as table

_LEAST = Effort(0.25, 0.5)
"""Hours: nobody opens, understands and closes a cause in less."""
_READ = 4
"""Lines around a made change that a reviewer reads."""


def of(work: str, places: int) -> Effort | None:
    """Hours for one cause with so many places; None for work that no port measures."""
    rates = table.rates()
    if work == "kernel":
        return None
    if work == "review":
        return Effort(_READ * places / rates.review[1], _READ * places / rates.review[0])
    low = places * rates.per_place[0] / rates.per_hour[1]
    high = places * rates.per_place[1] / rates.per_hour[0]
    return Effort(max(low, _LEAST.low), max(high, _LEAST.high))


def basis() -> str:
    """Where the hours come from, in a paragraph."""
    rates = table.rates()
    low, high = rates.per_place
    return (
        f"{rates.ports} public ports to Ascend changed {low:.1f} to {high:.1f} lines of product code for each place"
        f" that Jumar reports on the code before them (eight in ten of them; {rates.inside} of {rates.ports} lie in the"
        f" range that the others give). Of the places that Jumar leaves to people they changed {rates.touched[0]:.0f}"
        f" to {rates.touched[1]:.0f} %, and left the other features out. One hour is {rates.per_hour[0]:g} to"
        f" {rates.per_hour[1]:g} finished and tested lines (COCOMO II), or {rates.review[0]:g} to {rates.review[1]:g}"
        " reviewed ones. A cause counts with a quarter of an hour at least, also where only its upper end is named."
        " Training runs, tuning and approvals are not in it."
    )
