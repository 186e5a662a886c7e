"""Single changes to a plan that make it fit or make it faster; one that makes it worse is never named."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import NamedTuple

from jumar.parallel import provable
from jumar.parallel.plan import Plan
from jumar.parallel.search import Found, Search


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
    "experts": "divides the experts over more data-parallel cards; their tokens travel further",
    "micro": "smaller micro-batches keep fewer activations at once; products become smaller",
    "flash": "never writes the matrix of attention scores",
}


def knobs(search: Search, base: Found) -> list[Knob]:
    """Those that make it fit first, the fastest of them first.

    A plan that does not fit gets knobs that save memory, one that fits gets knobs that save time. Every plan is one
    that a command can generate and prove.
    """
    rows = []
    for name, plan in _changes(search, base.plan):
        if plan == base.plan or not search.space.possible(plan) or provable.reason(search.net, plan):
            continue
        found = search.evaluate(plan, search.hardware.usable)
        if found:
            rows.append(Knob(name, plan, found.peak, found.time.total, found.fits, WHY[name]))
    rows += _fused(search, base)
    helpful = [row for row in rows if _helps(row, base)]
    return sorted(helpful, key=lambda row: (not row.fits, row.time if row.fits else row.peak))


def _helps(row: Knob, base: Found) -> bool:
    return row.fits and row.time < base.time.total if base.fits else row.peak < base.peak


def _changes(search: Search, plan: Plan) -> Iterator[tuple[str, Plan]]:
    for level in (1, 3):
        yield ("shard" if level == 1 else "shard3"), plan._replace(shard=level)
    yield "selective", plan._replace(recompute="selective")
    yield "recompute", plan._replace(recompute="full")
    yield "sequence", plan._replace(sequence=plan.tp > 1)
    yield "experts", plan._replace(ep=plan.ep * 2)
    yield "micro", plan._replace(micro_batches=plan.micro_batches * 2)
    if plan.dp % 2:
        return
    few = plan.dp // 2
    halved = plan._replace(dp=few, shard=plan.shard if few > 1 else 0, ep=gcd(plan.ep, few))
    yield "tensor", halved._replace(tp=plan.tp * 2)
    left, stages = search.job.global_batch // few, plan.pp * 2
    counts = [m for m in range(stages, min(left, 4 * stages) + 1) if left % m == 0]
    if counts:
        yield "pipeline", halved._replace(pp=stages, micro_batches=counts[-1])


def _fused(search: Search, base: Found) -> list[Knob]:
    """The fused attention instead of a matrix of scores, where the chip has it."""
    net = search.net
    if net.attention != "plain" or not net.heads or net.traced or search.hardware.attention != "flash":
        return []
    plan = base.plan._replace(recompute="none" if base.plan.recompute == "selective" else base.plan.recompute)
    other = Search(net.with_(attention="flash"), search.job, search.hardware)
    found = other.evaluate(plan, search.hardware.usable)
    if found is None or provable.reason(other.net, plan):
        return []
    return [Knob("flash", plan, found.peak, found.time.total, found.fits, WHY["flash"])]
