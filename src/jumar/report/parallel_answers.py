"""The questions that people ask of a search for parallel plans, answered in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jumar.parallel.knobs import Knob
    from jumar.parallel.search import Answer, Found, Search

GIB = 1 << 30
KNOBS = 5
FRONT = 8
"""How many of each are told."""


def head(search: Search, answer: Answer) -> list[str]:
    """The network, the step and the card in three lines or more."""
    net, machine = search.net, search.hardware
    kind = f"{net.layers} layers" + (f", width {net.hidden}" if net.hidden else "")
    length = f", {net.seq} tokens" if net.seq > 1 else ""
    lines = [
        f"{net.name}: {net.parameters / 1e9:.2f} billion parameters, {kind}; "
        f"weights {net.kept}, computed in {net.computed}" + (f", {net.attention} attention" if net.heads else ""),
        f"a step: {search.job.global_batch} {net.sample}{'s' if search.job.global_batch != 1 else ''}{length}, "
        f"{search.job.optimizer}; "
        f"{machine.chip}, {machine.usable / GIB:.1f} GiB usable; {answer.looked} plans examined",
    ]
    for reason, count in answer.left_out.most_common():
        lines.append(f"{count} plans are left out, `--unproved` includes them: {reason}")
    shown = answer.best or answer.leanest
    if shown and answer.unproved:
        lines.append(f"no plan is recommended: `{shown.plan.name}` cannot be generated and proved: {answer.unproved}")
    return [*lines, *net.notes]


def fit(search: Search, answer: Answer, best: Found, beyond: Found | None, kept: int) -> tuple[str, list[str]]:
    """Does it fit? The search keeps so many plans at most; `beyond` is a plan that fits, but is not generated."""
    if answer.best is None:
        over = (best.peak - search.hardware.usable) / GIB
        told = f"no: the leanest plan, `{best.plan.name}`, is {over:.1f} GiB over"
        if beyond:
            told += f"; `{beyond.plan.name}` would fit with {beyond.peak / GIB:.1f} GiB, but is not generated"
    else:
        more = " or more" if len(answer.fitting) >= kept else ""
        told = f"yes: {len(answer.fitting)}{more} plans fit"
    return "does it fit?", [told]


def fewest(found: tuple[int, Found] | None, largest: int) -> tuple[str, list[str]]:
    if found is None:
        told = f"none up to {largest}: the batch limits how many can be used, or one layer is too large"
    else:
        told = f"{found[0]}: `{found[1].plan.name}` with {found[1].peak / GIB:.1f} GiB"
    return "on how few cards?", [told]


def knobs(base: Found, rows: Sequence[Knob]) -> tuple[str, list[str]]:
    told = [f"from `{base.plan.name}` ({base.peak / GIB:.1f} GiB, {'fits' if base.fits else 'does not fit'}):"]
    told += [
        f"{row.name}: {row.peak / GIB:.1f} GiB, {row.time * 1e3:.0f} ms"
        f"{'' if row.fits else ', does not fit'}; {row.why}"
        for row in rows[:KNOBS]
    ]
    return "which knob first?", told


def front(found: Sequence[Found]) -> tuple[str, list[str]]:
    told = [f"{item.time.total * 1e3:.0f} ms, {item.peak / GIB:.1f} GiB: {item.plan.name}" for item in found[:FRONT]]
    return "time against memory", told
