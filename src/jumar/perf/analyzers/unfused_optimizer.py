"""An optimizer that updates parameters one by one, where torch_npu has a fused one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.perf import spans
from jumar.perf.facts import Facts
from jumar.perf.places import places
from jumar.perf.result import MODELLED, Advice, time
from jumar.perf.unit import Unit, times
from jumar.tables.perf import optimizers

ADVICE = Unit("PF102", "unfused-optimizer", "an optimizer of many small operators that torch_npu has in fused form")
FEW = 20
"""Kernels of one update: a fused optimizer has fewer."""
_STEP = re.compile(r"Optimizer\.step#(\w+)\.step")


def look(facts: Facts) -> Iterator[Advice]:
    steps: dict[str, list[int]] = {}
    for index, op in enumerate(facts.profile.host):
        if match := _STEP.fullmatch(op.name):
            steps.setdefault(match[1], []).append(index)
    for name, found in steps.items():
        row = optimizers().get(name)
        host = [facts.profile.host[index] for index in found]
        ranges = spans.union((op.start, op.end) for op in host)
        kernels = [
            item for item in facts.profile.kernels if item.host >= 0 and spans.containing(ranges, item.host) >= 0
        ]
        if row is None or len(kernels) < FEW * len(found):
            continue
        device = sum(item.duration for item in kernels)
        waiting = spans.total(spans.common(facts.idle, ranges))
        yield Advice(
            ADVICE.id,
            f"{ADVICE.name}: {name}",
            f"{times(len(kernels), 'kernel')} in {times(len(found), 'update')} could be a few",
            device * (1 - row.keep) + waiting * (1 - len(found) / len(kernels)),
            MODELLED,
            (
                f"{len(kernels) / len(found):,.0f} kernels per update, device time {time(device)} in all",
                f"the card is idle for {time(waiting)} during the updates",
                f"a fused update is assumed to cost {row.keep:.0%} of the device time",
            ),
            (row.replace, f"# instead of torch.optim.{name}; parameters must be on the card first"),
            places(host),
        )
