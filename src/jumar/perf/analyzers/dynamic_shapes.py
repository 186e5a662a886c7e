"""Operators whose input shapes change from call to call: each new one costs compiling, tiling or a cache miss."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.perf.facts import Facts
from jumar.perf.places import place
from jumar.perf.result import MODELLED, Advice, time
from jumar.perf.unit import Unit, times
from jumar.tables.perf import jit_compile

ADVICE = Unit("PF105", "dynamic-shapes", "operators whose shapes change from step to step")
MANY = 4
"""Shapes at one place in the source that make it a changing one."""
_COMPILE = ("aclopCompileAndExecute", "opCompile", "OpCompile")


def look(facts: Facts) -> Iterator[Advice]:
    yield from _by_place(facts)
    compiled = [(name, *value) for name, value in facts.profile.calls.items() if any(part in name for part in _COMPILE)]
    amount = sum(row[2] for row in compiled if "opCompile" in row[0] or "OpCompile" in row[0])
    if amount and facts.share(amount) > 0.01:
        calls = sum(row[1] for row in compiled)
        yield Advice(
            ADVICE.id,
            f"{ADVICE.name}: compiled at run time",
            f"{times(calls, 'call')} into the operator compiler take {time(amount)}",
            min(amount, facts.split.host or amount),
            MODELLED,
            (f"calls such as {compiled[0][0]}",),
            (jit_compile().set, jit_compile().why),
        )


def _by_place(facts: Facts) -> Iterator[Advice]:
    shapes: dict[tuple[str, str], set[str]] = {}
    calls: dict[tuple[str, str], list[int]] = {}
    for index, op in enumerate(facts.profile.host):
        if op.shapes and op.stack and op.name.startswith("aten::") and facts.device[index]:
            key = place(op.stack), op.name
            shapes.setdefault(key, set()).add(op.shapes)
            calls.setdefault(key, []).append(index)
    steps = max(1, len(facts.profile.steps))
    changing = [
        key for key, seen in shapes.items() if len(seen) >= MANY and _changes(len(seen), len(calls[key]), steps)
    ]
    if not changing:
        return
    first = min(changing, key=lambda key: calls[key][0])
    touched = sum(len(calls[key]) for key in changing)
    examples = sorted(shapes[first])[:3]
    yield Advice(
        ADVICE.id,
        ADVICE.name,
        f"{times(len(changing), 'operator')} in the source with {MANY} or more shapes; the first is {first[1]}",
        0.0,
        MODELLED,
        (
            f"{times(touched, 'call')} with changing shapes",
            f"{first[1]} at {first[0]} saw {len(shapes[first])} shapes, such as {'; '.join(examples)}"[:300],
        ),
        (
            "pad batches to a few fixed lengths (buckets), and drop the last short batch: `DataLoader(drop_last=True)`",
            jit_compile().set + "  # the default on A2 and A3",
        ),
        first[0],
    )


def _changes(shapes: int, calls: int, steps: int) -> bool:
    """A layer called many times a step has as many shapes as layers; changing ones have more with every step."""
    return steps >= MANY - 1 and shapes > 1.5 * calls / steps
