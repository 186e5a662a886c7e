"""Every plan for these cards, pruned only where a bound proves that it cannot be wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from jumar.core.errors import UserError
from jumar.parallel import balance
from jumar.parallel.cost import Clock, Time
from jumar.parallel.hardware import Hardware
from jumar.parallel.memory import Memory, Model
from jumar.parallel.network import Network
from jumar.parallel.plan import Job, Plan

T = TypeVar("T")


class Found(NamedTuple):
    """A plan with what it costs; the peak is that of the fullest stage."""

    plan: Plan
    layers: tuple[int, ...]
    memory: tuple[Memory, ...]
    time: Time
    stages: tuple[float, ...]
    fits: bool

    @property
    def peak(self) -> int:
        return max(stage.total for stage in self.memory)


@dataclass(frozen=True)
class Wish:
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
    equal_stages: float | None = None
    """No stage may be faster than the slowest by more than this share."""
    layers: tuple[int, ...] | None = None


@dataclass
class Answer:
    """What a search found."""

    best: Found | None
    leanest: Found | None
    """Least memory of all, also if it does not fit."""
    front: list[Found]
    """No other plan that fits is both faster and leaner."""
    fitting: list[Found] = field(default_factory=list)
    """The fastest that fit, best first."""
    looked: int = 0
    pruned: int = 0


class Search:
    """Plans of one network, job and machine."""

    def __init__(self, net: Network, job: Job, hardware: Hardware) -> None:
        self.net, self.job, self.hardware = net, job, hardware
        self.model = Model(net, job)
        self.clock = Clock(self.model, hardware)

    def plans(self, wish: Wish) -> Iterator[Plan]:
        net = self.net
        for tp in _choices(wish.tp, _divisors(wish.cards)):
            if not self.can_split(tp) or (tp > self.hardware["cards_per_node"] and wish.tp is None):
                continue
            for pp in _choices(wish.pp, _divisors(wish.cards // tp if wish.cards % tp == 0 else 0)):
                if pp > self.depth or wish.cards % (tp * pp) or (wish.dp and wish.dp * tp * pp != wish.cards):
                    continue
                dp = wish.cards // tp // pp
                if self.job.global_batch % dp:
                    continue
                yield from self._inner(wish, dp, tp, pp, net)

    def _inner(self, wish: Wish, dp: int, tp: int, pp: int, net: Network) -> Iterator[Plan]:
        rows = self.job.global_batch // dp
        schedules = ("1f1b", "gpipe", "interleaved") if pp > 1 else ("1f1b",)
        sequences = (False,) if tp == 1 or not net.heads else (False, True)
        for m in _choices(wish.micro_batches, _divisors(rows) if pp > 1 else [1]):
            if rows % m or (pp > 1 and m < pp and wish.micro_batches is None) or (pp == 1 and m > 1):
                continue
            for shard in _choices(wish.shard, [0, 1, 3] if dp > 1 else [0]):
                for recompute in _choices(
                    wish.recompute, ["none", "selective", "full"] if net.heads else ["none", "full"]
                ):
                    if shard == 3 and recompute != "full" and net.framework == "mindspore" and wish.shard is None:
                        continue
                    if recompute == "selective" and (net.attention == "flash" or not net.heads):
                        continue
                    for schedule in _choices(wish.schedule, schedules):
                        for sequence in _choices(wish.sequence, sequences):
                            for ep in _choices(
                                wish.ep, [e for e in _divisors(dp) if net.experts and net.experts % e == 0] or [1]
                            ):
                                chunks = 2 if schedule == "interleaved" and pp > 1 else 1
                                if chunks > 1 and self.depth < pp * chunks:
                                    continue
                                yield Plan(
                                    dp,
                                    tp,
                                    pp,
                                    m,
                                    shard if dp > 1 else 0,
                                    recompute,
                                    schedule,
                                    chunks,
                                    sequence and tp > 1,
                                    ep,
                                )

    @property
    def depth(self) -> int:
        return self.net.parts[self.model.block].count

    def can_split(self, tp: int) -> bool:
        net = self.net
        if tp == 1:
            return True
        if net.family in ("conv", "traced"):
            return False
        if net.heads and (net.heads % tp or net.kv_heads % tp):
            return False
        return net.inner % tp == 0

    def caps(self, plan: Plan, limit: int) -> list[int]:
        """The most repeated layers that each stage can hold in `limit` bytes."""
        at = self.model.setting(plan)
        caps = []
        for stage in range(plan.pp):
            first, last, flight = stage == 0, stage == plan.pp - 1, self.model.in_flight(plan, stage)
            low, high = 0, self.depth - plan.pp + 1
            guess = min(high, 2 * -(-self.depth // plan.pp))
            if self.model.stage(at, guess, first, last, flight, plan.pp > 1).total > limit:
                high = guess - 1
            while low < high:
                middle = (low + high + 1) // 2
                if self.model.stage(at, middle, first, last, flight, plan.pp > 1).total <= limit:
                    low = middle
                else:
                    high = middle - 1
            caps.append(low)
        return caps

    def evaluate(self, plan: Plan, limit: int, layers: tuple[int, ...] | None = None) -> Found | None:
        """The plan with its best split of layers; one that does not fit is split as if memory had no end."""
        if layers is None:
            if plan.pp == 1:
                layers = (self.depth,)
            else:
                at = self.model.setting(plan)
                each = sum(self.clock.layer(self.model.block, at))
                fixed = [sum(self.clock.stage(at, 0, s == 0, s == plan.pp - 1)) for s in range(plan.pp)]
                free = [self.depth] * plan.pp
                layers = balance.split(self.depth, fixed, each, free)
                if layers and max(m.total for m in self.model.memory(plan, layers)) > limit:
                    layers = balance.split(self.depth, fixed, each, self.caps(plan, limit)) or layers
        if layers is None or len(layers) != plan.pp:
            return None
        memory = self.model.memory(plan, layers)
        time, stages = self.clock.time(plan, layers)
        return Found(plan, layers, tuple(memory), time, tuple(stages), max(m.total for m in memory) <= limit)

    def run(self, wish: Wish, *, keep: int = 20) -> Answer:
        """Look at every plan; those that a bound rules out are counted, not computed."""
        self._check(wish)
        limit = self.hardware.usable
        answer = Answer(None, None, [])
        ranked: list[Found] = []
        closest = 1.0
        for plan in self.plans(wish):
            answer.looked += 1
            if wish.equal_stages is None and self._hopeless(plan, answer, ranked, keep, limit):
                answer.pruned += 1
                continue
            found = self.evaluate(plan, limit, wish.layers)
            if found is None:
                continue
            if wish.equal_stages is not None:
                closest = min(closest, 1 - min(found.stages) / max(found.stages))
                if min(found.stages) < (1 - wish.equal_stages) * max(found.stages):
                    continue
            if answer.leanest is None or found.peak < answer.leanest.peak:
                answer.leanest = found
            if not found.fits:
                continue
            answer.front = _front(answer.front, found)
            if len(ranked) < keep or _key(found) < _key(ranked[-1]):
                ranked = sorted([*ranked, found], key=_key)[:keep]
                answer.best = ranked[0]
        answer.fitting = ranked
        if answer.looked == 0:
            raise UserError(*self._impossible(wish))
        if answer.leanest is None and wish.equal_stages is not None:
            raise UserError(
                f"no plan has stages within {100 * wish.equal_stages:g} % of each other: the closest differ by "
                f"{100 * closest:.1f} %",
                "embedding and head take time too: allow more, or take another number of stages",
            )
        return answer

    def _hopeless(self, plan: Plan, answer: Answer, ranked: list[Found], keep: int, limit: int) -> bool:
        """Can it neither fit nor be among the fastest nor on the front? By bounds that are never above the truth."""
        at = self.model.setting(plan)
        most = -(-self.depth // plan.pp)
        flight = self.model.in_flight(plan, plan.pp - 1)
        least = self.model.stage(at, most, False, False, flight, plan.pp > 1).total
        if least > limit:
            return answer.leanest is not None and least >= answer.leanest.peak
        if len(ranked) < keep:
            return False
        compute, comm = self.clock.stage(at, most, False, False)
        time = (compute + comm) * (plan.micro_batches + (plan.pp - 1) / plan.chunks)
        if time <= ranked[-1].time.total:
            return False
        return any(found.time.total <= time and found.peak <= least for found in answer.front)

    def _check(self, wish: Wish) -> None:
        fixed = [n for n in (wish.dp, wish.tp, wish.pp) if n]
        product = 1
        for number in fixed:
            product *= number
        if wish.cards % product or (len(fixed) == 3 and product != wish.cards):
            words = " x ".join(f"{key} {getattr(wish, key)}" for key in ("dp", "tp", "pp") if getattr(wish, key))
            raise UserError(f"{words} cannot fill {wish.cards} cards", "their product must divide the number of cards")
        if wish.tp and not self.can_split(wish.tp):
            raise UserError(*self._unsplittable(wish.tp))
        if wish.pp and wish.pp > self.depth:
            raise UserError(
                f"{wish.pp} stages need at least {wish.pp} layers; `{self.net.name}` has {self.depth}",
                "use fewer stages",
            )
        if wish.layers and (wish.pp != len(wish.layers) or sum(wish.layers) != self.depth):
            raise UserError(f"`--layers` must give one count per stage, together {self.depth}", "also give `--pp`")

    def _unsplittable(self, tp: int) -> tuple[str, str]:
        net = self.net
        if net.family in ("conv", "traced"):
            return f"tensor parallel is not modelled for `{net.name}`", "leave out `--tp`"
        return (
            f"tensor parallel {tp} does not divide {net.heads} heads, {net.kv_heads} key heads and width {net.inner}",
            f"possible: {', '.join(str(n) for n in _divisors(net.heads or net.inner) if self.can_split(n))}",
        )

    def _impossible(self, wish: Wish) -> tuple[str, str]:
        batch = self.job.global_batch
        return (
            f"no plan for {wish.cards} cards and a global batch of {batch} meets these wishes",
            "the batch must be divisible by dp x micro-batches, and there must be a micro-batch for each stage",
        )


def _key(found: Found) -> tuple[float, int]:
    return found.time.total, found.peak


def _front(front: list[Found], new: Found) -> list[Found]:
    if any(old.time.total <= new.time.total and old.peak <= new.peak for old in front):
        return front
    kept = [old for old in front if not (new.time.total <= old.time.total and new.peak <= old.peak)]
    return sorted([*kept, new], key=_key)


def _choices(fixed: T | None, free: Sequence[T]) -> list[T]:
    return [fixed] if fixed is not None else list(free)


def _divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]
