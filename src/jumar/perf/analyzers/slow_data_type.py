"""Kernels on float64 and int64: the vector and cube units have no float64, and int64 mostly runs on the AI CPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.perf.facts import Facts
from jumar.perf.profile import Kernel
from jumar.perf.result import MODELLED, Advice, time
from jumar.perf.unit import Unit, times

ADVICE = Unit("PF103", "slow-data-type", "float64 or int64 operators, which run on slow units")
_DOUBLE = re.compile(r"\b(DT_)?(DOUBLE|FLOAT64|COMPLEX128)\b", re.I)
_LONG = re.compile(r"\b(DT_)?(INT64|LONG)\b", re.I)
_FLOAT = re.compile(r"\b(DT_)?(FLOAT16|FLOAT|FLOAT32|BF16|BFLOAT16|DOUBLE)\b", re.I)
SHARE = 0.001


def look(facts: Facts) -> Iterator[Advice]:
    groups: dict[tuple[str, str], list[Kernel]] = {}
    for kernel in facts.profile.kernels:
        kind = slow_type(kernel)
        if kind:
            groups.setdefault((kind, facts.place_of(kernel)), []).append(kernel)
    for (kind, where), kernels in groups.items():
        amount = sum(item.duration for item in kernels)
        if facts.share(amount) < SHARE and (kind == "int64" or facts.is_measured):
            continue
        types = dict.fromkeys(item.type or item.name for item in kernels)
        cores = dict.fromkeys(item.core or "an unnamed unit" for item in kernels)
        yield Advice(
            ADVICE.id,
            f"{ADVICE.name}: {kind}",
            f"{times(len(kernels), 'kernel')} on {kind} take {time(amount)}: {', '.join(list(types)[:5])}",
            amount * _avoidable(kind, kernels[0].core),
            MODELLED,
            (
                f"on {', '.join(cores)}",
                f"shapes such as {kernels[0].shapes[:80].strip(';') or '() or not recorded'}",
            ),
            _change(kind),
            where,
        )


def _avoidable(kind: str, core: str) -> float:
    """A judgement: nine tenths of what runs on the AI CPU or in float64, half of int64 on the vector unit."""
    return 0.5 if kind == "int64" and core != "AI_CPU" else 0.9


def slow_type(kernel: Kernel) -> str:
    if _DOUBLE.search(kernel.types):
        return "float64"
    if _LONG.search(kernel.types) and not _FLOAT.search(kernel.types):
        return "int64"
    return ""


def _change(kind: str) -> tuple[str, ...]:
    if kind == "float64":
        return ("use float32: `.float()`, `dtype=torch.float32`, `torch.as_tensor(array, dtype=torch.float32)`",)
    return ("use int32 for counting and arithmetic: `.int()`; indexes of embeddings and losses may stay int64",)
