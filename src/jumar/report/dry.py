"""What a dry run found, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jumar.core.lang import t
from jumar.report import json

if TYPE_CHECKING:
    from jumar.emulate.dry.result import DryRun, Link, RankRun

GIB = 1 << 30
_ROWS = 8


def size(count: float) -> str:
    """In the unit that keeps it readable."""
    for unit, name in ((GIB, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.2f} {name}"
    return f"{int(count)} B"


def seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.2f} ms"


def text(run: DryRun) -> list[str]:
    lines = []
    for rank in run.ranks:
        lines += ["", *_rank(rank, run.world)]
    return [*lines, "", *(f"  {line}" for line in run.limits)]


def _rank(rank: RankRun, world: int) -> Iterator[str]:
    found, memory = rank.found, rank.found["memory"]
    yield f"dry run of rank {found['rank']} of {world}, {found['steps']} steps, {found['soc']}"
    if memory is None:
        nothing = f"  nothing was allocated: the first request does not fit in {size(found['capacity'])}"
        yield "  no memory of a card was used" if rank.fits else nothing
        return
    verdict = "fits" if rank.fits else "does not fit"
    yield (
        f"  peak {size(memory['peak'])} allocated, {size(memory['reserved'])} reserved,"
        f" {size(rank.buffers)} of HCCL (modelled): {verdict} in {size(found['capacity'])}"
    )
    where = f"{memory['operator']} at {memory['site'] or '?'}"
    yield f"  reached in the {memory['phase']} of step {memory['step'] + 1} by {where}"
    for name, held in memory["owners"].items():
        yield f"    {size(held):>11}  {t(name)}"
    lost = max(0, memory["reserved"] - memory["peak"])
    yield f"    {size(lost):>11}  reserved and not used at the peak (fragmentation)"
    yield from _activations(memory)
    yield from _links(rank.links)
    yield from _time(rank)
    yield from _assumed(found)
    for number, hint in enumerate(rank.hints[:3]):
        yield f"  {'change first' if number == 0 else 'then'}: {hint.what}: up to {size(hint.gain)}"


def _activations(memory: dict[str, Any]) -> Iterator[str]:
    rows = [row for row in memory["holders"] if row["owner"] == "activations"][:_ROWS]
    if rows:
        yield "  activations at the peak, by module and operator"
    for row in rows:
        module = row["module"] or "(outside of modules)"
        yield f"    {size(row['bytes']):>11}  {module}  {row['op']}  {row['tensors']} tensors"


def _links(links: list[Link]) -> Iterator[str]:
    if links:
        yield "  collectives of a step"
    for row in links[:_ROWS]:
        yield (
            f"    {row.calls:>5} x {size(row.bytes):>11}  {row.name}  ranks {row.group}  {seconds(row.seconds)}"
            f"{'' if row.waits else ', beside the kernels'}  {row.site}"
        )
    if len(links) > _ROWS:
        yield f"    and {len(links) - _ROWS} more kinds: `--report FILE.json` has all"


def _time(rank: RankRun) -> Iterator[str]:
    time = rank.time
    if time is None:
        return
    yield (
        f"  step {seconds(time.total)} modelled, {seconds(time.low)} to {seconds(time.high)}: kernels"
        f" {seconds(time.compute)}, host {seconds(time.host)}, collectives {seconds(time.exposed)} waited for and"
        f" {seconds(time.hidden)} beside the kernels; {time.operations / 1e12:.2f} TFLOP, MFU {100 * time.mfu:.0f} %"
    )


def _assumed(found: dict[str, Any]) -> Iterator[str]:
    for row in found["looks"][:_ROWS]:
        yield (
            f"  value not computed: {row['operation']} ({row['type']}) at {row['site'] or '?'}, {row['calls']} times,"
            f" answered {row['answer']:g}"
        )
    for name, calls in found["computed"].items():
        yield f"  computed, because it has no shape function: {name}, {calls} times"
    for name, batches in found.get("loaders", {}).items():
        yield f"  data loader repeats one sample: {name}, {batches} times"
    for name, calls in sorted(found["assumed"].items()):
        yield f"  answered for absent ranks: {name}, {calls} times"


def to_json(run: DryRun) -> dict[str, Any]:
    """One documented shape."""
    return json.document({
        "kind": "dry", "program": run.program, "world": run.world, "limits": list(run.limits),
        "ranks": [_json(rank) for rank in run.ranks],
    })  # fmt: skip


def _json(rank: RankRun) -> dict[str, Any]:
    kept = {key: value for key, value in rank.found.items() if key not in ("operators", "collectives")}
    time = rank.time
    return {
        **kept,
        "fits": rank.fits,
        "exit": rank.code,
        "hccl_bytes": rank.buffers,
        "operators": sum(row["calls"] for row in rank.found["operators"]),
        "step": {**time._asdict(), "total": time.total} if time else None,
        "collectives": [row._asdict() for row in rank.links],
        "hints": [row._asdict() for row in rank.hints],
    }
