"""Every plan for these cards, pruned only where a bound proves that it cannot be wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from jumar.core.errors import UserError
from jumar.parallel import balance, conflicts, provable
from jumar.parallel.cost import Clock, Time
from jumar.parallel.hardware import Hardware
from jumar.parallel.memory import Memory, Model
from jumar.parallel.network import Network
from jumar.parallel.plan import Job, Plan
from jumar.parallel.space import Group, PlanRequest, Space


class Found(NamedTuple):
    """A plan with what it costs; the peak is that of the fullest stage."""

    plan: Plan
    layers: tuple[int, ...]
    memory: tuple[Memory, ...]
    time: Time
    stages: tuple[float, ...]
    peak: int
    fits: bool

    @property
    def placed(self) -> list[tuple[int, int]]:
        """Stage and segment of each layer; the interleaved schedule goes through all stages once for each segment."""
        chunks = self.plan.chunks
        return [
            (stage, segment)
            for segment in range(chunks)
            for stage, count in enumerate(self.layers)
            for _ in range(count // chunks + (segment < count % chunks))
        ]


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
    left_out: Counter[str] = field(default_factory=Counter)
    """Plans that no command can prove, by reason."""
    unproved: str = ""
    """Why no command can prove the best plan."""

    def add(self, found: Found, keep: int) -> None:
        if self.leanest is None or found.peak < self.leanest.peak:
            self.leanest = found
        if not found.fits:
            return
        if found.peak < self.lowest(found.time.total):
            kept = [old for old in self.front if not (_key(found) <= _key(old) and found.peak <= old.peak)]
            self.front = sorted([*kept, found], key=_key)
        if len(self.fitting) < keep or _key(found) < _key(self.fitting[-1]):
            self.fitting = sorted([*self.fitting, found], key=_key)[:keep]
            self.best = self.fitting[0]

    def lowest(self, time: float) -> int:
        """The least memory of the plans that fit and take no more time than this."""
        return min((found.peak for found in self.front if found.time.total <= time), default=1 << 62)


class Search:
    """Plans of one network, job and machine."""

    def __init__(self, net: Network, job: Job, hardware: Hardware) -> None:
        self.net, self.job, self.hardware = net, job, hardware
        self.model = Model(net, job)
        self.clock = Clock(self.model, hardware)
        self.depth = net.parts[self.model.block].count
        self.space = Space(net, self.depth, job.global_batch, hardware["cards_per_node"])

    def plans(self, request: PlanRequest) -> Iterator[Plan]:
        for group in self.space.groups(request):
            yield from group.plans()

    def cap(self, plan: Plan, stage: int, limit: int) -> int:
        """The most repeated layers that a stage can hold in `limit` bytes."""
        low, high = 0, self.depth - plan.pp + 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.model.peak(plan, stage, middle).total <= limit:
                low = middle
            else:
                high = middle - 1
        return low

    def evaluate(self, plan: Plan, limit: int, layers: tuple[int, ...] | None = None) -> Found | None:
        """The plan with its best split of layers; one that does not fit is split as if memory had no end."""
        layers = layers or self._split(plan, limit)
        if layers is None or len(layers) != plan.pp:
            return None
        memory = self.model.memory(plan, layers)
        time, stages = self.clock.time(plan, layers)
        peak = max(stage.total for stage in memory)
        return Found(plan, layers, tuple(memory), time, tuple(stages), peak, peak <= limit)

    def _split(self, plan: Plan, limit: int) -> tuple[int, ...] | None:
        """Only stages that are too full get a cap; a split that is best without the other caps is best with them."""
        if plan.pp == 1:
            return (self.depth,)
        at = self.model.setting(plan)
        each = sum(self.clock.layer(self.model.block, at))
        fixed = [sum(self.clock.stage(at, 0, s == 0, s == plan.pp - 1)) for s in range(plan.pp)]
        caps = [self.depth] * plan.pp
        layers = first = balance.split(self.depth, fixed, each, caps, plan.chunks)
        while layers:
            full = [s for s, memory in enumerate(self.model.memory(plan, layers)) if memory.total > limit]
            if not full:
                return layers
            for stage in full:
                caps[stage] = self.cap(plan, stage, limit)
            layers = balance.split(self.depth, fixed, each, caps, plan.chunks)
        return first

    def run(
        self, request: PlanRequest, *, keep: int = 20, progress: Callable[[int, int], None] | None = None
    ) -> Answer:
        """Look at every plan, the fastest first; those that a bound rules out are counted, not computed."""
        conflicts.check(self.space, self.net, request)
        answer = Answer(None, None, [])
        closest = 1.0
        groups, answer.left_out = provable.choose(self.net, self.space.groups(request), request)
        ordered = sorted(((self.quickest(group), group) for group in groups), key=lambda row: row[0])
        for number, (time, group) in enumerate(ordered):
            answer.looked += group.size
            if progress:
                progress(number, len(ordered))
            for plan in self._hopeful(group, time, answer, keep, request):
                found = self.evaluate(plan, self.hardware.usable, request.layers)
                if found is None:
                    continue
                if request.equal_stages is not None:
                    closest = min(closest, 1 - min(found.stages) / max(found.stages))
                    if min(found.stages) < (1 - request.equal_stages) * max(found.stages):
                        continue
                answer.add(found, keep)
        if answer.looked == 0:
            raise UserError(*conflicts.impossible(self.space, request))
        if answer.leanest is None and request.equal_stages is not None:
            raise UserError(
                f"no plan has stages within {100 * request.equal_stages:g} % of each other: the closest differ by "
                f"{100 * closest:.1f} %",
                "embedding and head take time too: allow more, or use another number of stages",
            )
        shown = answer.best or answer.leanest
        answer.unproved = provable.reason(self.net, shown.plan) if shown else ""
        return answer

    def any_that_fits(self, request: PlanRequest) -> Found | None:
        """Some plan that fits; those of groups with the lowest bounds are tried first."""
        limit, rows = self.hardware.usable, []
        for group in provable.choose(self.net, self.space.groups(request), request)[0]:
            for shard in group.shards:
                least = self.model.least(group.plan._replace(shard=shard), self.depth)
                if least <= limit:
                    rows.append((least, group._replace(shards=(shard,))))
        for _, group in sorted(rows, key=lambda row: row[0]):
            for plan in group.plans():
                found = self.evaluate(plan, limit, request.layers)
                if found and found.fits:
                    return found
        return None

    def quickest(self, group: Group) -> float:
        """No plan of the group takes less time than this."""
        plan, chunks = group.plan, max(chunks for _, chunks in group.schedules)
        at = self.model.setting(plan)
        whole = sum(self.clock.stage(at, self.depth, True, True))
        each = -(-self.depth // plan.pp) * sum(self.clock.layer(self.model.block, at))
        return max(each, whole / plan.pp) * (plan.micro_batches + (plan.pp - 1) / chunks)

    def _hopeful(self, group: Group, time: float, answer: Answer, keep: int, request: PlanRequest) -> list[Plan]:
        """The plans that can be among the fastest that fit, on the front, or the leanest if none fits."""
        if request.equal_stages is not None:
            return list(group.plans())
        limit = self.hardware.usable
        if len(answer.fitting) >= keep and time > answer.fitting[-1].time.total:
            limit = min(limit, answer.lowest(time) - 1)
        elif not answer.front:
            limit = max(limit, answer.leanest.peak if answer.leanest else 1 << 62)
        # No schedule holds fewer micro-batches than 1F1B, so that its bound rules out the others too.
        lean = [n for n in group.shards if self.model.least(group.plan._replace(shard=n), self.depth) <= limit]
        left = group._replace(shards=tuple(lean)).plans() if lean else ()
        hopeful = [plan for plan in left if plan.schedule == "1f1b" or self.model.least(plan, self.depth) <= limit]
        answer.pruned += group.size - len(hopeful)
        return hopeful


def _key(found: Found) -> tuple[float, int]:
    return found.time.total, found.peak
