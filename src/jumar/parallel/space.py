"""The plans that are possible for a network on some cards, in groups that differ only in shard and schedule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, TypeVar

from jumar.parallel.network import Network
from jumar.parallel.plan import SCHEDULES, Plan

T = TypeVar("T")
SHORTEST = 1024
"""Tokens of the shortest piece of a sequence that the search gives to a context-parallel card."""


@dataclass(frozen=True)
class PlanRequest:
    """What the user fixes; None is free."""

    cards: int
    dp: int | None = None
    tp: int | None = None
    pp: int | None = None
    micro_batches: int | None = None
    shard: int | None = None
    recompute: str | None = None
    schedule: str | None = None
    sequence: bool | None = None
    ep: int | None = None
    cp: int | None = None
    offload: bool | None = None
    equal_stages: float | None = None
    """No stage may be faster than the slowest by more than this share."""
    layers: tuple[int, ...] | None = None
    unproved: bool = False
    """Also plans that no command can prove."""


class Group(NamedTuple):
    """Plans that take the same time for a layer: they differ in optimizer shard and schedule."""

    plan: Plan
    shards: tuple[int, ...]
    schedules: tuple[tuple[str, int], ...]
    """Name and pieces of a stage."""

    def plans(self) -> Iterator[Plan]:
        for shard, (schedule, chunks) in product(self.shards, self.schedules):
            yield self.plan._replace(shard=shard, schedule=schedule, chunks=chunks)

    @property
    def size(self) -> int:
        return len(self.shards) * len(self.schedules)


class Space:
    """The plans of one network, batch and size of a machine."""

    def __init__(self, net: Network, depth: int, global_batch: int, per_node: float) -> None:
        self.net, self.depth, self.global_batch, self.per_node = net, depth, global_batch, per_node

    @property
    def schedules(self) -> tuple[str, ...]:
        """MindSpore 2.10 takes `gpipe` and keeps the order of 1F1B, as its dry runs show."""
        return SCHEDULES if self.net.framework == "torch" else ("1f1b", "interleaved")

    def groups(self, request: PlanRequest) -> Iterator[Group]:
        for tp in _choices(request.tp, divisors(request.cards)):
            if request.cards % tp or not self.can_split(tp) or (tp > self.per_node and request.tp is None):
                continue
            for pp in _choices(request.pp, divisors(request.cards // tp)):
                for cp in self._contexts(request):
                    dp, rest = divmod(request.cards, tp * pp * cp)
                    if rest or pp > self.depth or (request.dp and request.dp != dp) or self.global_batch % dp:
                        continue
                    yield from self._of(request, dp, tp, pp, cp)

    def possible(self, plan: Plan) -> bool:
        """Is it one of the plans that a search looks at?"""
        request = PlanRequest(
            plan.cards, plan.dp, plan.tp, plan.pp, plan.micro_batches, None, plan.recompute, plan.schedule,
            plan.sequence, plan.ep, plan.cp, plan.offload,
        )  # fmt: skip
        return any(plan in group.plans() for group in self.groups(request))

    def _contexts(self, request: PlanRequest) -> list[int]:
        """Nothing generates context parallel: it is looked at when somebody asks for it."""
        if request.cp is not None or not request.unproved or not self.net.heads or self.net.picture:
            return [request.cp or 1]
        return [1] + [2**n for n in range(1, 6) if self.can_divide(2**n) and self.net.seq >> n >= SHORTEST]

    def can_divide(self, cp: int) -> bool:
        """Each card has a piece from the front and one from the back of a sequence, for the causal mask."""
        net = self.net
        return cp == 1 or (bool(net.heads) and not net.picture and net.seq % (2 * cp) == 0)

    def _of(self, request: PlanRequest, dp: int, tp: int, pp: int, cp: int) -> Iterator[Group]:
        net = self.net
        # The tokens of a picture, often an odd number, are not divided.
        split = tp > 1 and bool(net.heads) and not net.picture and net.seq % (tp * cp) == 0
        woven = self.depth >= 2 * pp
        names = _choices(request.schedule, self.schedules if pp > 1 else SCHEDULES[:1])
        schedules = [(name, 2 if name == "interleaved" and pp > 1 else 1) for name in names]
        schedules = [row for row in schedules if row[1] == 1 or woven]
        spread = [n for n in divisors(dp) if net.experts and net.experts % n == 0] or [1]
        if request.ep and request.ep not in spread:
            return
        for m, recompute, sequence, ep, offload in product(
            self._micro_batches(request, dp, pp), self._recompute(request),
            _choices(request.sequence, (False, True) if split else (False,)), _choices(request.ep, spread),
            _choices(request.offload, (False, True) if request.unproved else (False,)),
        ):  # fmt: skip
            shards = [self._shards(request, recompute), [0]][dp * cp == 1]
            plan = Plan(
                dp, tp, pp, m, recompute=recompute, sequence=sequence and tp > 1, ep=ep, cp=cp, offload=offload
            )  # fmt: skip
            if schedules:
                yield Group(plan, tuple(shards), tuple(schedules))

    def _micro_batches(self, request: PlanRequest, dp: int, pp: int) -> list[int]:
        rows = self.global_batch // dp
        if request.micro_batches is not None:
            return [] if rows % request.micro_batches or request.micro_batches < pp else [request.micro_batches]
        return [m for m in divisors(rows) if m >= pp]

    def _recompute(self, request: PlanRequest) -> list[str]:
        net = self.net
        can_select = bool(net.heads) and net.attention != "flash"
        found = _choices(request.recompute, ["none", "selective", "full"])
        return [name for name in found if name != "selective" or can_select]

    def _shards(self, request: PlanRequest, recompute: str) -> list[int]:
        """MindSpore gathers weights a second time only together with recompute."""
        again = self.net.framework == "torch" or recompute == "full"
        return _choices(request.shard, [0, 1, 3] if again else [0, 1])

    def can_split(self, tp: int) -> bool:
        net = self.net
        if tp == 1:
            return True
        if net.family in ("conv", "traced"):
            return False
        if net.heads and (net.heads % tp or net.kv_heads % tp):
            return False
        return not any(width % tp for width in (net.inner, net.shared_inner, net.dense_inner))


def _choices(fixed: T | None, free: Sequence[T]) -> list[T]:
    return [fixed] if fixed is not None else list(free)


def divisors(number: int) -> list[int]:
    small = [n for n in range(1, int(number**0.5) + 1) if number % n == 0]
    return small + [number // n for n in reversed(small) if n * n != number]
