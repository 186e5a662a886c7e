"""Kernels on the AI CPU of the card, and operators that torch_npu hands to the host's CPU."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.perf.analyzers.slow_data_type import slow_type
from jumar.perf.facts import Facts
from jumar.perf.places import place
from jumar.perf.profile import FALLBACK, HostOp, Kernel
from jumar.perf.result import MEASURED, MODELLED, Advice, time
from jumar.perf.unit import Unit, times

ADVICE = Unit("PF107", "cpu-fallback", "operators without an NPU kernel, which run on a CPU")


def look(facts: Facts) -> Iterator[Advice]:
    yield from _on_card(facts)
    yield from _on_host(facts)


def _on_card(facts: Facts) -> Iterator[Advice]:
    groups: dict[tuple[str, str], list[Kernel]] = {}
    for kernel in facts.profile.kernels:
        if kernel.core == "AI_CPU" and not slow_type(kernel):
            groups.setdefault((kernel.type or kernel.name, facts.place_of(kernel)), []).append(kernel)
    for (type_, where), kernels in groups.items():
        amount = sum(item.duration for item in kernels)
        yield Advice(
            ADVICE.id,
            f"{ADVICE.name}: {type_} on the AI CPU",
            f"{times(len(kernels), 'kernel')} on the AI CPU take {time(amount)}",
            amount * 0.9,
            MODELLED if facts.profile.modelled else MEASURED,
            (f"types {kernels[0].types or 'not recorded'}, shapes {kernels[0].shapes[:80] or 'not recorded'}",),
            ("another data type, or another operator that runs on the AI cores",),
            where,
        )


def _on_host(facts: Facts) -> Iterator[Advice]:
    groups: dict[tuple[str, str], list[HostOp]] = {}
    for op in facts.profile.host:
        if op.name.startswith(FALLBACK):
            groups.setdefault((op.name.removeprefix(FALLBACK), place(op.stack)), []).append(op)
    for (name, where), ops in groups.items():
        amount = sum(op.end - op.start for op in ops)
        yield Advice(
            ADVICE.id,
            f"{ADVICE.name}: {name}",
            f"{name} has no NPU kernel: {times(len(ops), 'call')} copied to the host, computed there and copied back",
            amount,
            MODELLED,
            (f"host time {time(amount)}",),
            ("write it with operators that have a kernel, or do it on the host before the step",),
            where,
        )
