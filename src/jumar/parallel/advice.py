"""Sentences for people: which knob first, why the first stage is fuller, what breaks when the batch doubles."""

from __future__ import annotations

from dataclasses import replace

from jumar.core.words import counted
from jumar.parallel.knobs import knobs
from jumar.parallel.memory import Memory
from jumar.parallel.plan import Job
from jumar.parallel.search import Found, Search
from jumar.parallel.space import PlanRequest

GIB = 1 << 30
LARGEST = 4096


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
    fullest = max(range(found.plan.pp), key=lambda stage: found.memory[stage].total)
    lines = [
        f"stage {fullest} of 0 to {found.plan.pp - 1} is the fullest: {_gib(found.memory[fullest].total)}",
        f"stage 0 holds {counted(first.in_flight, 'micro-batch', 'micro-batches')} in flight, "
        f"the last stage {last.in_flight}: {_gib(first.activations + first.copies)} against "
        f"{_gib(last.activations + last.copies)} "
        "of activations and copies",
    ]
    if found.layers[0] != found.layers[-1]:
        lines.append(
            f"stage 0 has {counted(found.layers[0], 'layer')}, the last {found.layers[-1]}: "
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


def beyond(search: Search, request: PlanRequest) -> Found | None:
    """A plan that fits with what no command generates: context parallel, activation offload."""
    wider = replace(request, unproved=True)
    return search.any_that_fits(wider) if wider != request else None


def _gib(size: float) -> str:
    return f"{size / GIB:.1f} GiB"
