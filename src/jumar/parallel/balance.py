"""How many of the repeated layers each pipeline stage gets: the split whose slowest stage is fastest, exactly."""

from __future__ import annotations

import heapq
from collections.abc import Sequence


def split(
    layers: int, fixed: Sequence[float], each: float, most: Sequence[int], least: int = 1
) -> tuple[int, ...] | None:
    """Counts per stage that add up to `layers` with the smallest slowest stage, or None if the caps leave no way.

    Stage `s` takes `fixed[s] + count * each` seconds and holds `least` to `most[s]` layers. Layers are equal, so giving
    each to the stage that is done first is optimal: any better split would have a stage with fewer layers than it got
    here, and moving a layer there makes the slowest stage no slower than this one.
    """
    if sum(most) < layers or len(fixed) * least > layers or any(cap < least for cap in most):
        return None
    counts = [least] * len(fixed)
    # Among equals the last stage comes first: the first stage holds most activations.
    heap = [(time + (least + 1) * each, -stage) for stage, time in enumerate(fixed) if most[stage] > least]
    heapq.heapify(heap)
    for _ in range(layers - len(fixed) * least):
        if not heap:
            return None
        time, stage = heapq.heappop(heap)
        counts[-stage] += 1
        if counts[-stage] < most[-stage]:
            heapq.heappush(heap, (time + each, stage))
    return tuple(counts)
