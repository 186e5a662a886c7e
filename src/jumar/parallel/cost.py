"""The modelled time of one step: rooflines, alpha-beta collectives, the pipeline's bubble. No hardware confirmed it."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from jumar.parallel.architecture import BYTES
from jumar.parallel.hardware import MICRO, Hardware
from jumar.parallel.liveness import repeated
from jumar.parallel.memory import Model
from jumar.parallel.plan import Plan
from jumar.parallel.setting import Setting, cards_of, holders, is_sharded
from jumar.parallel.tape import AUTOCAST, JOINED, SEQUENCE, TENSOR, WHOLE, Op, Tape, Value

BACKWARD = 2 / 3
"""The backward pass of all that a layer computes, without recompute."""
REDUCED = 4
"""Bytes of a gradient that FSDP2 adds up: the printed programs reduce in float32."""


class Time(NamedTuple):
    """Seconds of a step by what they go to."""

    compute: float
    tensor: float
    """Collectives of tensor, context and expert parallel, and values on their way to the host and back."""
    bubble: float
    data: float
    """Gradient collectives that the backward pass does not hide."""
    pipeline: float
    optimizer: float

    @property
    def total(self) -> float:
        return sum(self)


class Volume(NamedTuple):
    """Bytes that one card hands to collectives in a step, by kind."""

    tensor: int
    data: int
    pipeline: int
    expert: int
    context: int = 0


class Clock:
    """Times of plans for one network, job and machine."""

    def __init__(self, model: Model, hardware: Hardware) -> None:
        self.model, self.hardware = model, hardware
        self.layers = cache(self._layer)
        self.stage = cache(self._stage)

    def layer(self, part: int, at: Setting) -> tuple[float, float, float, float]:
        """Forward and backward seconds of one layer for one micro-batch, and those of its collectives."""
        recompute = at.recompute if self.model.recomputes(part) else "none"
        return self.layers(
            part, Setting(at.batch, at.tp, 1, at.sequence, False, recompute, at.kept, at.computed, ep=at.ep, cp=at.cp)
        )

    def _layer(self, part: int, at: Setting) -> tuple[float, float, float, float]:
        tape, hardware = self.model.net.parts[part].tape.without(AUTOCAST, JOINED), self.hardware
        divisors = {WHOLE: 1, TENSOR: at.tp, SEQUENCE: at.tp if at.sequence else 1}
        speed, bandwidth = hardware.flops(BYTES[self.model.net.computed]), hardware.bandwidth()
        batch = at.batch / at.cp
        sizes = [value.size * (1 if value.once else batch) / divisors[value.split] for value in tape.values]
        forward = again = 0.0
        redone = repeated(tape, at.recompute)
        for number, op in enumerate(tape.ops):
            if op.view:
                continue
            moved = sizes[op.output] + sum(sizes[value] for value in op.inputs)
            moved += sum(tape.weights[i].elements / cards_of(tape.weights[i], at) * at.computed for i in op.weights)
            seconds = moved / bandwidth
            if op.flops:
                reached = speed * hardware["expert_share"] if _of_experts(tape, op) else speed
                seconds = max(seconds, op.flops * batch / at.tp / reached)
            seconds = max(seconds, hardware["launch"] * MICRO)
            forward += seconds
            if number in redone:
                again += seconds
        link = hardware.link(at.tp, 1)
        once, twice, back = (
            sum(link.all_reduce(tape.values[value].size * batch) for value in values)
            for values in (tape.reduced, _again(tape, at.recompute), tape.returned)
        )
        if at.ep > 1:
            seen = 1 - hardware["exchange_overlap"]
            moved = 2 * hardware.link(at.ep, at.tp).exchange(tape.exchanged * batch) * seen
            once, back, twice = once + moved, back + moved, twice + (moved if at.recompute == "full" else 0)
        if at.cp > 1:
            moved = hardware.link(at.cp, at.tp).one_pass(tape.passed * at.batch / at.tp)
            once, back, twice = once + moved, back + 2 * moved, twice + (moved if at.recompute == "full" else 0)
        return forward, 2 * forward + again, once, back + twice

    def _stage(self, at: Setting, count: int, first: bool, last: bool) -> tuple[float, float]:
        """Seconds of one micro-batch on a stage: compute and collectives."""
        compute = comm = 0.0
        for number, part in enumerate(self.model.net.parts):
            block = number == self.model.block
            if not block and not ((number < self.model.block and first) or (number > self.model.block and last)):
                continue
            n = count if block else part.count
            row = self.layer(number, at)
            compute, comm = compute + n * (row[0] + row[1]), comm + n * (row[2] + row[3])
            if at.offload and self.model.recomputes(number):
                comm += n * self._travels(number, at, row[0], row[1])
        return compute, comm

    def _travels(self, part: int, at: Setting, forward: float, backward: float) -> float:
        """What a layer saves goes to the host and comes back on a stream of its own, while the layers work."""
        row = self.model.profile(part, at._replace(offload=False))
        one_way = (row.saved - row.copies) / self.hardware.host()
        return max(0.0, one_way - forward) + max(0.0, one_way - backward)

    def time(self, plan: Plan, layers: tuple[int, ...]) -> tuple[Time, list[float]]:
        """The parts of a step, and the seconds of each stage for one micro-batch."""
        at = self.model.setting(plan)
        rows = [self.stage(at, count, s == 0, s == plan.pp - 1) for s, count in enumerate(layers)]
        totals = [sum(row) for row in rows]
        worst = max(range(plan.pp), key=totals.__getitem__)
        compute, comm = rows[worst]
        chunks = plan.chunks if plan.schedule == "interleaved" else 1
        m = plan.micro_batches
        bubble = totals[worst] * (plan.pp - 1) / chunks
        return (
            Time(compute * m, comm * m, bubble, self._data(plan, at, layers, compute),
                 self._sends(plan, at), self._optimizer(plan, at, layers)),
            totals,
        )  # fmt: skip

    def _fullest(self, plan: Plan, at: Setting, layers: tuple[int, ...]) -> tuple[int, int, int]:
        """The most elements on one card before and after the optimizer shard, and those of experts before it."""
        found = [self.model.rows(at, n, s == 0, s == plan.pp - 1) for s, n in enumerate(layers)]
        return max(
            (sum(r.local * n for r, n in rows), sum(r.state * n for r, n in rows), sum(r.experts * n for r, n in rows))
            for rows in found
        )

    def _data(self, plan: Plan, at: Setting, layers: tuple[int, ...], compute: float) -> float:
        """Experts are added up over the cards that hold the same ones, other weights over all data-parallel cards.

        Gradients travel while the last micro-batch goes back; weights that are gathered again and again travel while
        any layer works.
        """
        local, _, experts = self._fullest(plan, at, layers)
        overlap, once, often = self.hardware["overlap"], 0.0, 0.0
        for elements, cards, stride in ((local - experts, at.dp, 1), (experts, at.dp // plan.ep, plan.ep)):
            link = self.hardware.link(cards, plan.tp * stride)
            if not plan.shard:
                once += link.all_reduce(elements * at.gradient)
            elif plan.shard == 3:
                often += 2 * plan.micro_batches * link.one_pass(elements * at.computed)
                often += (plan.micro_batches if at.eager else 1) * link.one_pass(elements * at.gradient)
            else:
                once += link.one_pass(elements * at.gradient) + link.one_pass(elements * at.computed)
        seen = max(0.0, once - compute * BACKWARD * overlap)
        return seen + max(0.0, often - compute * plan.micro_batches * overlap)

    def _sends(self, plan: Plan, at: Setting) -> float:
        """Values between stages while a pipeline fills and drains; in between they travel while stages work."""
        if plan.pp == 1:
            return 0.0
        link = self.hardware.link(plan.pp, at.dp * plan.tp)
        tape = self.model.net.parts[self.model.block].tape
        size = tape.values[tape.out].size * at.batch / at.cp / (plan.tp if at.sequence and at.eager else 1)
        return 2 * (plan.pp - 1) * (size / link.port + self.hardware["roce_latency"] * MICRO)

    def _optimizer(self, plan: Plan, at: Setting, layers: tuple[int, ...]) -> float:
        _, owned, _ = self._fullest(plan, at, layers)
        return owned * (2 * (at.kept + self.model.state_bytes) + at.gradient) / self.hardware.bandwidth()

    def volume(self, plan: Plan, layers: tuple[int, ...], stage: int) -> Volume:
        """Bytes that a card of the stage gives to collectives in one step."""
        at = self.model.setting(plan)
        tensor = expert = context = 0.0
        data = 0
        for number, part in enumerate(self.model.net.parts):
            block = number == self.model.block
            if not block and not (
                (number < self.model.block and stage == 0) or (number > self.model.block and stage == plan.pp - 1)
            ):
                continue
            count, tape, again = layers[stage] if block else part.count, part.tape, self.model.recomputes(number)
            n = count * plan.micro_batches * at.batch / at.cp
            if plan.tp > 1:
                redone = _again(tape, at.recompute) if again else []
                tensor += n * sum(_added(tape.values[v], at) for v in (*tape.reduced, *redone, *tape.returned))
                tensor += n * sum(tape.values[v].size // at.tp for v in tape.collected)
                if at.sequence and not at.eager:
                    ways = tape.whole // plan.tp * (2 if again and at.recompute == "full" else 1)
                    tensor += n * (tape.whole + ways)
                tensor += n * (tape.late if at.sequence else tape.late - tape.late * at.computed // at.gradient)
            expert += n * tape.exchanged * _exchanges(at, bool(again and at.recompute == "full"))
            ring = 4 if again and at.recompute == "full" else 3
            context += n * (plan.cp - 1) * tape.passed // plan.tp * ring
            passes = plan.micro_batches if at.eager and at.shard else 1
            data += passes * count * self._gradients(tape, at, again)
        tensor += self._borders(plan, at, stage)
        if at.staged and stage in (0, plan.pp - 1):
            # Both stages add up the gradient of the table that they share; with the shard, each card that of its slice.
            data += self.model.net.vocab * self.model.net.hidden // plan.tp * at.gradient // (at.dp if at.shard else 1)
        tape = self.model.net.parts[self.model.block].tape
        pieces = range(stage, plan.pp * plan.chunks, plan.pp)
        ends = sum((piece > 0) + (piece < plan.pp * plan.chunks - 1) for piece in pieces)
        sent = ends * plan.micro_batches * at.batch * tape.values[tape.out].size // at.cp
        return Volume(int(tensor), data, sent, int(expert), int(context))

    def _borders(self, plan: Plan, at: Setting, stage: int) -> int:
        """MindSpore adds up the gradient that crosses a border of stages on the earlier one."""
        if plan.tp == 1 or plan.pp == 1 or at.sequence or at.eager:
            return 0
        tape, last = self.model.net.parts[self.model.block].tape, plan.pp * plan.chunks - 1
        moved = sum((piece < last) - (piece > 0) for piece in range(stage, last + 1, plan.pp))
        return moved * plan.micro_batches * at.batch * tape.values[tape.out].size

    def _gradients(self, tape: Tape, at: Setting, block: bool) -> int:
        """Bytes of gradients, and of the slices of weights that are gathered, for one layer."""
        total, again = 0, at.level == 3 and (block if at.eager else not at.pipeline)
        for weight in tape.weights:
            gathers = 2 if again and (at.eager or weight.kept) else 1
            # MindSpore also adds up what every tensor-parallel card has whole.
            same = holders(weight, at) * (1 if weight.split or at.eager else at.tp)
            if same == 1:
                continue
            local = weight.elements // cards_of(weight, at)
            total += local * (REDUCED if at.eager and at.shard else at.gradient)
            if is_sharded(weight, at):
                total += gathers * local // holders(weight, at) * (at.computed if weight.cast or at.eager else at.kept)
        return total


def _of_experts(tape: Tape, op: Op) -> bool:
    return any(tape.weights[index].expert for index in op.weights)


def _exchanges(at: Setting, redone: bool) -> int:
    """How often a card hands over the tokens of its experts in one step: there and back, and the same for gradients."""
    return 0 if at.ep == 1 else 6 if redone else 4


def _again(tape: Tape, recompute: str) -> list[int]:
    """Values that tensor parallel adds up once more when they are recomputed."""
    made = {tape.ops[number].output for number in repeated(tape, recompute)}
    return [value for value in tape.reduced if value in made]


def _added(value: Value, at: Setting) -> int:
    """Bytes that a card hands over when tensor parallel adds up a value; with sequence parallel it is scattered and,
    where it is read whole, gathered."""
    size = value.size * at.width(value)
    return size + size // at.tp if at.sequence and value.split == SEQUENCE else size
