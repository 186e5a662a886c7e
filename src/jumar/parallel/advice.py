"""Sentences for people: which knob first, why the first stage is fuller, what breaks when the batch doubles."""

from __future__ import annotations

from dataclasses import replace
from math import gcd
from typing import NamedTuple

from jumar.parallel.memory import Memory
from jumar.parallel.plan import Job, Plan
from jumar.parallel.search import Found, Search
from jumar.parallel.space import PlanRequest

GIB = 1 << 30
LARGEST = 4096


class Knob(NamedTuple):
    """One change to a plan with what it does to memory and time."""

    name: str
    plan: Plan
    peak: int
    time: float
    fits: bool
    why: str


WHY = {
    "shard": "divides weights and optimizer state over the data-parallel cards; costs an all-gather in each step",
    "shard3": "also drops the gathered weights after use; costs a second all-gather",
    "recompute": "keeps only the input of each layer and recomputes the layer in the backward pass",
    "selective": "recomputes only the attention scores: saves most of the memory for little time",
    "sequence": "divides norms and residuals over the tensor-parallel cards; the volume of collectives stays the same",
    "tensor": "halves weights, gradients, state and activations of each card; costs all-reduces in every layer",
    "pipeline": "halves the layers of each card; costs a bubble, and copies for accumulated gradients",
    "micro": "smaller micro-batches keep fewer activations at once; products become smaller",
    "flash": "never writes the matrix of attention scores",
}


def knobs(search: Search, base: Found) -> list[Knob]:
    """Single changes that save memory or time: those that make it fit first, cheapest time first."""
    plan, rows = base.plan, []
    wanted: list[tuple[str, Plan]] = []
    if plan.dp > 1:
        wanted += [("shard", plan._replace(shard=1)), ("shard3", plan._replace(shard=3))]
    if search.net.heads and search.net.attention == "plain":
        wanted.append(("selective", plan._replace(recompute="selective")))
    wanted.append(("recompute", plan._replace(recompute="full")))
    if plan.tp > 1 and search.net.heads:
        wanted.append(("sequence", plan._replace(sequence=True)))
    halved = plan._replace(
        dp=plan.dp // 2, shard=plan.shard if plan.dp > 2 else 0, ep=gcd(plan.ep, plan.dp // 2) if plan.dp > 1 else 1
    )
    if plan.dp % 2 == 0 and search.space.can_split(plan.tp * 2):
        wanted.append(("tensor", halved._replace(tp=plan.tp * 2)))
    if plan.dp % 2 == 0 and plan.pp * 2 <= search.depth:
        rows_left = search.job.global_batch // (plan.dp // 2)
        micro = max((m for m in range(1, rows_left + 1) if rows_left % m == 0 and m <= 4 * plan.pp * 2), default=1)
        if micro >= plan.pp * 2:
            wanted.append(("pipeline", halved._replace(pp=plan.pp * 2, micro_batches=micro)))
    if (search.job.global_batch // plan.dp) % (plan.micro_batches * 2) == 0:
        wanted.append(("micro", plan._replace(micro_batches=plan.micro_batches * 2)))
    for name, changed in wanted:
        if changed == plan:
            continue
        found = search.evaluate(changed, search.hardware.usable)
        if found:
            rows.append(Knob(name, changed, found.peak, found.time.total, found.fits, WHY[name]))
    if search.net.attention == "plain" and search.net.heads:
        other = Search(search.net.with_(attention="flash"), search.job, search.hardware).evaluate(
            plan, search.hardware.usable
        )
        if other:
            rows.append(Knob("flash", plan, other.peak, other.time.total, other.fits, WHY["flash"]))
    helpful = [row for row in rows if row.peak < base.peak or (base.fits and row.fits and row.time < base.time.total)]
    return sorted(helpful, key=lambda row: (not row.fits, row.time if row.fits else row.peak))


def plainest(search: Search, wanted: PlanRequest, best: Found) -> Found:
    """The plan with the same cards and no knob turned, to start from."""
    plan = best.plan._replace(
        shard=wanted.shard or 0,
        recompute=wanted.recompute or "none",
        sequence=bool(wanted.sequence) and best.plan.tp > 1,
    )
    return search.evaluate(plan, search.hardware.usable, wanted.layers) or best


def stages(found: Found) -> list[str]:
    """Why stages differ in memory; nothing for one stage."""
    if found.plan.pp == 1:
        return []
    first, last = found.memory[0], found.memory[-1]
    lines = [
        f"stage 0 holds {first.in_flight} micro-batch{'es' if first.in_flight != 1 else ''} in flight, "
        f"the last stage {last.in_flight}: {_gib(first.activations + first.copies)} against "
        f"{_gib(last.activations + last.copies)} "
        "of activations and copies"
    ]
    if found.layers[0] != found.layers[-1]:
        lines.append(
            f"stage 0 has {found.layers[0]} layers, the last {found.layers[-1]}: "
            "the embedding and the head take time too"
        )
    if _gib(last.weights) != _gib(first.weights):
        lines.append(
            f"weights: {_gib(first.weights)} with the embedding on stage 0, "
            f"{_gib(last.weights)} with the head on the last"
        )
    return lines


def doubled(search: Search, found: Found) -> str:
    """What happens to the plan with twice the batch."""
    job = Job(search.job.global_batch * 2, search.job.optimizer)
    other = Search(search.net, job, search.hardware)
    plan = found.plan
    if plan.pp > 1:
        more = other.evaluate(plan._replace(micro_batches=plan.micro_batches * 2), search.hardware.usable)
        if more and more.fits:
            return (
                f"twice the batch as {plan.micro_batches * 2} micro-batches: {_gib(more.peak)} at the peak, "
                "it still fits; "
                f"the step takes {more.time.total / found.time.total:.2f} times as long"
            )
    same = other.evaluate(plan, search.hardware.usable)
    if same is None:
        return "twice the batch cannot be divided this way"
    if same.fits:
        return f"twice the batch fits: {_gib(same.peak)} instead of {_gib(found.peak)}"
    grown = _largest_growth(found.memory, same.memory)
    text = f"twice the batch needs {_gib(same.peak)} and no longer fits in {_gib(search.hardware.usable)}: {grown} grow"
    better = next((row for row in knobs(other, same) if row.fits), None)
    return text + (f"; `{better.name}` brings it to {_gib(better.peak)}" if better else "; no single knob makes it fit")


def _largest_growth(old: tuple[Memory, ...], new: tuple[Memory, ...]) -> str:
    names = ("weights", "gradients", "optimizer", "activations", "copies", "buffers")
    worst = max(range(len(new)), key=lambda stage: new[stage].total)
    return max(names, key=lambda name: getattr(new[worst], name) - getattr(old[worst], name))


def fewest(search: Search, request: PlanRequest) -> tuple[int, Found] | None:
    """The fewest cards with a plan that fits, tried in powers of two and the number asked for."""
    sizes = sorted({2**n for n in range(13)} | {request.cards})
    for cards in sizes:
        if cards > LARGEST or (request.dp or 1) * (request.tp or 1) * (request.pp or 1) > cards:
            continue
        found = search.any_that_fits(replace(request, cards=cards))
        if found:
            return cards, found
    return None


def _gib(size: float) -> str:
    return f"{size / GIB:.1f} GiB"
