"""Stretches of time: sorted, disjoint pairs of begin and end."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

Span = tuple[float, float]


def union(parts: Iterable[Span]) -> list[Span]:
    """The same time as disjoint stretches in order."""
    merged: list[Span] = []
    for start, end in sorted(parts):
        if end <= start:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged


def total(parts: Iterable[Span]) -> float:
    return sum(end - start for start, end in parts)


def clip(parts: Iterable[Span], window: Span) -> list[Span]:
    low, high = window
    return [(max(start, low), min(end, high)) for start, end in parts if end > low and start < high]


def gaps(busy: list[Span], window: Span) -> list[Span]:
    """What of the window is in none of the stretches."""
    found, at = [], window[0]
    for start, end in clip(busy, window):
        if start > at:
            found.append((at, start))
        at = max(at, end)
    if at < window[1]:
        found.append((at, window[1]))
    return found


def common(a: list[Span], b: list[Span]) -> list[Span]:
    """The time that is in both."""
    found, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        start, end = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if start < end:
            found.append((start, end))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return found


def containing(parts: list[Span], time: float) -> int:
    """Index of the stretch that a moment lies in, -1 where there is none."""
    at = bisect_right(parts, (time, float("inf"))) - 1
    return at if at >= 0 and parts[at][0] <= time <= parts[at][1] else -1
