"""Environment variables and switches of the run that cost time, by the rows of data/perf_rules.toml."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.perf.analyzers import memory_fragmentation
from jumar.perf.facts import Facts
from jumar.perf.result import MODELLED, Advice
from jumar.perf.unit import Unit
from jumar.tables.perf import Setting, jit_compile, settings

ADVICE = Unit("PF111", "settings", "an environment variable or switch that costs time")


def look(facts: Facts) -> Iterator[Advice]:
    environment = facts.profile.environment
    if environment is not None:
        for row in settings():
            value = environment.get(row.variable, "")
            if (value or row.default) not in row.good and _applies(facts, row):
                yield _advice(row, value)
    row_jit = jit_compile()
    if facts.profile.jit_compile is True:
        yield Advice(
            ADVICE.id,
            f"{ADVICE.name}: jit_compile",
            "operators are compiled at run time (jit_compile is on)",
            0.0,
            MODELLED,
            (row_jit.why, f"the default on {', '.join(row_jit.families)}; source: {row_jit.source}"),
            (row_jit.set,),
        )


def _applies(facts: Facts, row: Setting) -> bool:
    if row.when == "host":
        return facts.host_bound > 0.2
    if row.when == "memory":
        return any(memory_fragmentation.look(facts))
    return True


def _advice(row: Setting, value: str) -> Advice:
    now = f"is `{value}`" if value else "is not set"
    return Advice(
        ADVICE.id,
        f"{ADVICE.name}: {row.variable}",
        f"{row.variable} {now}: {row.why}",
        0.0,
        MODELLED,
        (f"source: {row.source}",),
        (row.set,),
    )
