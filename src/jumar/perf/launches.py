"""How the host sends work: the time of a call, the wait until a kernel begins, and how many kernels lie in the queue.

The definitions are those of HolisticTraceAnalysis: a queue grows when the host sends and shrinks when a kernel begins.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean, median

from jumar.perf.profile import Kernel, Profile
from jumar.perf.result import Launches

LATE = 100.0
"""Microseconds from the end of the call to the begin of the kernel: more is an outlier."""
FULL = 1024
"""Kernels in a queue: the host waits before it sends another one."""


def launches(profile: Profile) -> Launches | None:
    """Over all kernels whose sending is in the profile."""
    sent = [item for item in [*profile.kernels, *profile.comm] if item.host >= 0]
    if not sent:
        return None
    delays = [max(0.0, item.start - item.host - item.call) for item in sent]
    calls = [item.call for item in sent if item.call > 0]
    deepest, average, full = _queues(sent)
    return Launches(
        sent=len(sent),
        call=fmean(calls) if calls else None,
        delay=fmean(delays),
        delay_median=median(delays),
        late=sum(delay > LATE for delay in delays),
        short=sum(0 < item.duration < item.call for item in sent) if calls else None,
        queue=average,
        queue_most=deepest,
        queue_full=full,
    )


def _queues(sent: Iterable[Kernel]) -> tuple[int, float, float]:
    """The most kernels in one stream, their average over time in the busiest one, and how long one is full."""
    streams: dict[int, list[Kernel]] = {}
    for item in sent:
        streams.setdefault(item.stream, []).append(item)
    found = {stream: _queue(items) for stream, items in streams.items()}
    busiest = max(streams, key=lambda stream: len(streams[stream]))
    return max(row[0] for row in found.values()), found[busiest][1], sum(row[2] for row in found.values())


def _queue(items: list[Kernel]) -> tuple[int, float, float]:
    changes = sorted([(item.host, 1) for item in items] + [(item.start, -1) for item in items])
    depth = most = 0
    area = full = 0.0
    last = changes[0][0]
    for at, change in changes:
        area += depth * (at - last)
        full += (at - last) if depth >= FULL else 0.0
        depth, last = depth + change, at
        most = max(most, depth)
    length = last - changes[0][0]
    return most, area / length if length else 0.0, full
