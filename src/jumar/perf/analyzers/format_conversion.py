"""Kernels that only change the format, layout or type of data."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.perf.facts import Facts
from jumar.perf.profile import Kernel
from jumar.perf.result import MEASURED, MODELLED, Advice, time
from jumar.perf.unit import Unit, times

ADVICE = Unit("PF112", "format-conversion", "kernels that only change format, layout or data type")
SHARE = 0.05
_CHANGES = {
    "TransData": "torch.npu.config.allow_internal_format = False  # no private formats, so no conversions",
    "Cast": "keep one data type through the model: autocast at the top, no `.float()` in between",
    "Transpose": "choose one layout: avoid `.transpose(…).contiguous()`, give matmul the transposed operand as it is",
    "TransposeD": "choose one layout: avoid `.transpose(…).contiguous()`, give matmul the transposed operand as it is",
    "AsStrided": "avoid `.contiguous()` of sliced tensors",
}


def look(facts: Facts) -> Iterator[Advice]:
    groups: dict[str, list[Kernel]] = {}
    for kernel in facts.profile.kernels:
        if kernel.type in _CHANGES and kernel.core != "AI_CPU":
            groups.setdefault(kernel.type, []).append(kernel)
    for type_, kernels in groups.items():
        amount = sum(item.duration for item in kernels)
        if facts.share(amount) < SHARE:
            continue
        yield Advice(
            ADVICE.id,
            f"{ADVICE.name}: {type_}",
            f"{times(len(kernels), 'kernel')} {type_} take {time(amount)}",
            amount,
            MODELLED if facts.profile.modelled else MEASURED,
            (f"{facts.share(amount):.0%} of the time; upper bound, if none is needed",),
            (_CHANGES[type_],),
        )
