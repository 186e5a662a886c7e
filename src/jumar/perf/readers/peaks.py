"""The peaks of the caching allocator and its course over time, from whichever file has them."""

from __future__ import annotations

from collections.abc import Iterable

from jumar.perf.profile import Memory, Profile

POINTS = 100
"""Of the course of memory over time."""


def peaks(found: Iterable[tuple[int, float, float]], profile: Profile) -> None:
    """From moments in nanoseconds, allocated and reserved, in MB."""
    rows = sorted(found)
    allocated = max((row[1] for row in rows), default=0.0)
    reserved = max((row[2] for row in rows), default=0.0)
    if reserved:
        held = profile.memory.held if profile.memory else ()
        profile.memory = Memory(allocated, reserved, held, _course(rows))


def _course(rows: list[tuple[int, float, float]]) -> tuple[tuple[float, float, float], ...]:
    """The highest row of each of POINTS parts of the time; the first and the last moment are always there."""
    if len(rows) < 2 or rows[-1][0] <= rows[0][0]:
        return ()
    start, length = rows[0][0], rows[-1][0] - rows[0][0]
    parts: dict[int, tuple[int, float, float]] = {}
    for row in rows:
        part = (row[0] - start) * (POINTS - 2) // length
        if part not in parts or row[1] > parts[part][1]:
            parts[part] = row
    chosen = sorted({rows[0], rows[-1], *parts.values()})
    return tuple(((at - start) / 1000, one, other) for at, one, other in chosen)
