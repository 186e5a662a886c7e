"""Requests that contradict each other, the cards or the network: what is wrong, and what would be possible."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from jumar.core.errors import UserError
from jumar.parallel.network import Network
from jumar.parallel.space import PlanRequest, Space, divisors


def check(space: Space, net: Network, request: PlanRequest) -> None:
    """Refuse a request that no plan can meet."""
    for problem in (*_cards(space, net, request), *_network(net, request), *_pipeline(space, net, request)):
        raise UserError(*problem)


def _cards(space: Space, net: Network, request: PlanRequest) -> Iterator[tuple[str, str]]:
    fixed = {key: getattr(request, key) for key in ("dp", "tp", "cp", "pp") if getattr(request, key)}
    product = prod(fixed.values())
    if request.cards % product or ({"dp", "tp", "pp"} <= set(fixed) and product != request.cards):
        words = " x ".join(f"{key} {value}" for key, value in fixed.items())
        yield f"{words} cannot fill {request.cards} cards", "their product must divide the number of cards"
    if request.tp and not space.can_split(request.tp):
        yield _unsplittable(space, net, request.tp)
    if request.cp and not space.can_divide(request.cp):
        yield (
            f"context parallel {request.cp} cannot divide {net.seq} tokens",
            "the number of tokens must be a multiple of twice as many; pictures are not divided",
        )
    if request.shard and request.dp == 1 and (request.cp or 1) == 1:
        yield "an optimizer shard needs data-parallel cards to share it", "leave out `--shard`, or raise `--dp`"
    if request.sequence and request.tp == 1:
        yield "sequence parallel divides over the tensor-parallel cards, and `--tp 1` has none", "raise `--tp`"


def _network(net: Network, request: PlanRequest) -> Iterator[tuple[str, str]]:
    if request.sequence and not net.heads:
        yield f"`{net.name}` has no sequence to divide", "leave out `--sequence`"
    if request.ep and request.ep > 1 and not net.experts:
        yield f"`{net.name}` has no experts to divide", "leave out `--ep`"
    if request.ep and net.experts and request.dp and request.dp % request.ep:
        yield (
            f"expert parallel {request.ep} lies on the data-parallel cards, and `--dp {request.dp}` is not a multiple",
            f"possible: {', '.join(str(n) for n in divisors(request.dp) if net.experts % n == 0)}",
        )
    if request.ep and net.experts and request.cards % request.ep:
        yield f"expert parallel {request.ep} cannot fill {request.cards} cards", "it must divide the number of cards"
    if request.ep and net.experts and net.experts % request.ep:
        yield (
            f"{request.ep} cards cannot share {net.experts} experts",
            f"possible: {', '.join(map(str, divisors(net.experts)))}",
        )
    if request.recompute == "selective" and (net.attention == "flash" or not net.heads):
        what = "fused attention" if net.heads else f"`{net.name}`"
        yield f"selective recompute is for attention scores, and {what} writes none", "`--recompute full` or `none`"


def _pipeline(space: Space, net: Network, request: PlanRequest) -> Iterator[tuple[str, str]]:
    if request.schedule and request.schedule not in space.schedules:
        yield (
            f"MindSpore has no `{request.schedule}` of its own: it keeps the order of 1F1B",
            "`--schedule 1f1b`, or `--framework torch`",
        )
    if request.pp and request.pp > space.depth:
        yield (
            f"{request.pp} stages need at least {request.pp} layers; `{net.name}` has {space.depth}",
            "use fewer stages",
        )
    if request.pp and request.micro_batches and request.micro_batches < request.pp:
        yield (
            f"{request.pp} stages need at least {request.pp} micro-batches, not {request.micro_batches}",
            "raise `--micro-batches`, or use fewer stages",
        )
    if request.schedule == "interleaved" and request.pp and space.depth < 2 * request.pp:
        yield (
            f"the interleaved schedule needs two layers for each of {request.pp} stages; there are {space.depth}",
            "`--schedule 1f1b`",
        )
    if request.layers and (
        request.pp != len(request.layers) or sum(request.layers) != space.depth or min(request.layers) < 1
    ):
        yield f"`--layers` must give one count per stage, together {space.depth}", "also give `--pp`"


def _unsplittable(space: Space, net: Network, tp: int) -> tuple[str, str]:
    if net.family in ("conv", "traced"):
        return f"tensor parallel is not modelled for `{net.name}`", "leave out `--tp`"
    return (
        f"tensor parallel {tp} does not divide {net.heads} heads, {net.kv_heads} key heads and width {net.inner}",
        f"possible: {', '.join(str(n) for n in divisors(net.heads or net.inner) if space.can_split(n))}",
    )


def impossible(space: Space, request: PlanRequest) -> tuple[str, str]:
    return (
        f"no plan for {request.cards} cards and a global batch of {space.global_batch} meets these options",
        "the batch must be divisible by dp x micro-batches, and there must be a micro-batch for each stage",
    )
