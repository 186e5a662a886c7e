"""The peak of every pipeline stage, from the profiles of its layers: the closed formula that the search uses."""

from __future__ import annotations

from functools import cache, cached_property
from typing import NamedTuple

from jumar.parallel.architecture import BYTES
from jumar.parallel.network import Network
from jumar.parallel.plan import Job, Plan
from jumar.parallel.profile import shape
from jumar.parallel.setting import Profile, Setting, Shape, cards_of, holders, is_sharded
from jumar.parallel.tape import DENSE
from jumar.parallel.transformer import MASK

FIRST, UPDATE = 3 * 4, 7 * 4
"""Bytes for each element of the largest weight while MindSpore's AdamWeightDecay updates it: weights in half precision
have no fused operator, and seven tensors of float32 were seen at once, three while all gradients wait (2.10.0)."""


class Memory(NamedTuple):
    """Bytes on a card of one stage at its peak, by what they are."""

    weights: int
    gradients: int
    """With those that are added up over micro-batches, and the buckets of DDP."""
    optimizer: int
    activations: int
    copies: int
    """Cast or gathered copies of weights."""
    buffers: int
    """Constants and inputs."""
    moment: str
    """When the peak is reached."""
    in_flight: int = 1

    @property
    def total(self) -> int:
        return self.weights + self.gradients + self.optimizer + self.activations + self.copies + self.buffers


class Model:
    """The memory of plans for one network and job; layer profiles are kept."""

    def __init__(self, net: Network, job: Job) -> None:
        self.net, self.job = net, job
        self.state_bytes, self.waits = job.states(net.framework) * BYTES[net.kept], job.waits(net.framework)
        self.profile = cache(self._profile)
        self.shape = cache(self._shape)
        self.stage = cache(self._stage)
        self.setting = cache(self._setting)
        self.rows = cache(self._rows)

    def _setting(self, plan: Plan) -> Setting:
        net, eager = self.net, self.net.framework == "torch"
        return Setting(
            batch=max(1, self.job.global_batch // plan.dp // plan.micro_batches),
            tp=plan.tp,
            dp=plan.dp * plan.cp,
            sequence=plan.sequence,
            shard=plan.shard > 0,
            recompute=plan.recompute,
            kept=BYTES[net.kept],
            gradient=BYTES[net.kept],
            computed=BYTES[net.computed],
            pipeline=plan.pp > 1 or (plan.micro_batches > 1 and not eager),
            adds=plan.pp == 1 and plan.micro_batches > 1 and eager,
            staged=plan.pp > 1 and net.tied,
            ep=plan.ep,
            level=plan.shard if eager or plan.recompute == "full" else min(plan.shard, 1),
            eager=eager,
            cp=plan.cp,
            offload=plan.offload,
        )

    def _profile(self, part: int, at: Setting) -> Profile:
        if not self.recomputes(part):
            at = at._replace(recompute="none", root=at.eager and at.shard)
        row = self.shape(part, at.kind).at(at)
        return self._elsewhere(part, at, row) if at.cp > 1 or at.offload else row

    def _elsewhere(self, part: int, at: Setting, row: Profile) -> Profile:
        """Context parallel receives the next keys and values, and their gradients on the way back; with offload a layer
        leaves only copies of weights on the card, and the neighbour's values travel while it works."""
        passed = self.net.parts[part].tape.passed * at.batch // at.cp // at.tp if at.cp > 1 else 0
        travels = row.saved - row.copies if at.offload and self.recomputes(part) else 0
        return row._replace(
            forward=row.forward + passed + travels, backward=row.backward + 2 * passed + travels,
            saved=row.saved - travels,
        )  # fmt: skip

    def _shape(self, part: int, at: Setting) -> Shape:
        return shape((self.staged if at.staged else self.net).parts[part].tape, at)

    @cached_property
    def staged(self) -> Network:
        """The network on stages: a head that shares its table with the embedding has a copy."""
        return self.net.with_(tied=False)

    @cached_property
    def block(self) -> int:
        """The part that there are most of; stages divide its layers."""
        parts = self.net.parts
        return max(range(len(parts)), key=lambda number: parts[number].count)

    def recomputes(self, part: int) -> bool:
        """Is a part recomputed, and gathered by itself? Embedding and head are not."""
        return part == self.block or self.net.parts[part].name == DENSE

    def memory(self, plan: Plan, layers: tuple[int, ...]) -> list[Memory]:
        """The peak of each stage when stage `s` has `layers[s]` of the repeated layers."""
        return [self.peak(plan, stage, count) for stage, count in enumerate(layers)]

    def peak(self, plan: Plan, stage: int, count: int) -> Memory:
        first, last, flight = stage == 0, stage == plan.pp - 1, plan.flights[stage]
        rounds, left = divmod(plan.micro_batches, plan.pp)
        left = left if last and plan.chunks > 1 and rounds > 1 else 0
        more, staged = plan.micro_batches > flight, plan.pp > 1
        return self.stage(self.setting(plan), count, first, last, flight, more, staged, left)

    def accumulated(self, plan: Plan, stage: int, count: int) -> int:
        """Bytes of the gradients that a stage adds up over its micro-batches, before the optimizer shard."""
        at = self.setting(plan)
        return at.gradient * sum(row.local * n for row, n in self.rows(at, count, stage == 0, stage == plan.pp - 1))

    def least(self, plan: Plan, depth: int) -> float:
        """No split of the repeated layers needs less than this on its fullest card.

        A stage with `c` layers and `f` micro-batches in flight needs `c (own + f saved)` and, for a moment, what the
        backward pass of a layer adds; `c` is at most what the peak leaves room for, and all `c` add up to the depth.
        """
        if plan.pp == 1:
            return self.peak(plan, 0, depth).total
        at = self.setting(plan)
        row = self.profile(self.block, at)
        own = (
            row.weights
            + row.state * self.state_bytes
            + row.gathered
            - row.unread
            + (2 * row.local + row.state) * at.gradient
        )
        return row.backward - row.saved + depth / sum(1 / (own + f * row.saved) for f in plan.flights)

    def _rows(self, at: Setting, count: int, first: bool, last: bool) -> list[tuple[Profile, int]]:
        """The profiles on a stage in order, each with how many there are in a row."""
        rows = []
        for number, part in enumerate(self.net.parts):
            if number == self.block:
                rows.append((self.profile(number, at), count))
            elif (number < self.block and first) or (number > self.block and last):
                rows.append((self.profile(number, at), part.count))
        return [row for row in rows if row[1]]

    def _update(self, at: Setting, first: bool, last: bool) -> int:
        """Bytes that the optimizer needs for a moment to change the largest weight of a stage."""
        if at.eager or at.kept == BYTES["float32"] or self.job.optimizer != "adamw":
            return 0
        parts = [part for number, part in enumerate(self.net.parts)
                 if number == self.block or (first if number < self.block else last)]  # fmt: skip
        return UPDATE * max(
            weight.elements // cards_of(weight, at) // (holders(weight, at) if is_sharded(weight, at) else 1)
            for part in parts for weight in part.tape.weights
        )  # fmt: skip

    def _stage(
        self, at: Setting, count: int, first: bool, last: bool, flight: float, more: bool, pipeline: bool, left: int
    ) -> Memory:
        """`more`: forward passes of further micro-batches follow the first backward pass; `left`: micro-batches that
        are left of the two or more whole rounds of an interleaved pipeline: they pass the head before any goes back."""
        if pipeline and flight > 1:
            at = at._replace(moved=True)
        rows = self.rows(at, count, first, last)
        weights, state, local, gradients = (
            sum(getattr(row, name) * n for row, n in rows) for name in ("weights", "state", "local", "gradients")
        )
        # The head goes straight back, except where all micro-batches pass forward first.
        waits = rows[:-1] if last and more and pipeline and len(rows) > 1 else rows
        saved, copies = sum(row.saved * n for row, n in waits), sum(row.copies * n for row, n in waits)
        attention = sum(n for number, n in self._counts(count, first) if self.recomputes(number))
        buffers, always = self._buffers(at, first, pipeline, attention), 0
        if at.pipeline:
            # What is added up, and zeros that clear it: one set as the gradients are, one as the optimizer sees them.
            always = (2 * local + state) * at.gradient
        update = self._update(at, first, last)
        waiting = int((flight - 1) * saved) + (left * rows[-1][0].saved if waits is not rows else 0)
        best = self._highest(rows, gradients, waiting, _gathered(rows, at, more), at, update)
        size, grads, held, name = best
        if at.eager:
            size, grads, held, name = self._eager(at, rows, state, gradients, best)
            always += local * at.gradient if at.dp > 1 and not at.shard else 0
        if at.adds:
            grads = max(grads, gradients)
        if at.pipeline and local * at.gradient + update > size + grads:
            size, grads, held, name = update, local * at.gradient, 0, "optimizer"
        inside = held + (int((flight - 1) * copies) if name != "optimizer" else 0)
        return Memory(
            weights, grads + always, state * self.state_bytes, size - inside, inside, buffers, name, int(flight),
        )  # fmt: skip

    def _eager(
        self, at: Setting, rows: list[tuple[Profile, int]], state: int, gradients: int, best: tuple[int, int, int, str]
    ) -> tuple[int, int, int, str]:
        """PyTorch has two more moments: FSDP2 scatters what is in no layer last, and Adam needs room for a root."""
        outside = sum(row.local * n for row, n in rows if row.gathered)
        gathered = sum(row.gathered * n for row, n in rows)
        moments = [best, (outside * at.gradient + gathered, gradients, gathered, "backward")]
        if self.job.optimizer in ("adam", "adamw"):
            own = 0 if at.dp > 1 and not at.shard else state * at.gradient
            moments.append((state * at.gradient + gathered, own, gathered, "optimizer"))
        return max(moments, key=lambda moment: moment[0] + moment[1])

    def _highest(
        self,
        rows: list[tuple[Profile, int]],
        gradients: int,
        waiting: int,
        gathered: dict[str, int],
        at: Setting,
        update: int,
    ) -> tuple[int, int, int, str]:
        """Activations with copies, gradients, and copies alone at the moment when they are most."""
        forward, backward, last = gathered["forward"], gathered["backward"], gathered["optimizer"]
        best, most = (last, 0, last, "optimizer"), last
        if self.waits:
            best, most = (last, gradients, last, "optimizer"), gradients + last
        reduced = min(gradients, sum(row.local * n for row, n in rows) * at.gradient)
        for grads, wide in ((gradients, update * FIRST // UPDATE), (reduced, update)):
            if wide and grads + last + wide > most:
                best, most = (last + wide, grads, last, "optimizer"), grads + last + wide
        before = held = done = 0
        for row, n in rows:
            for index in (0, n - 1) if n > 1 else (0,):
                size = waiting + before + index * row.saved
                if size + row.forward + forward > most:
                    most = size + row.forward + forward
                    best = (most, 0, held + index * row.copies + forward, "forward")
                after = gradients - done - (index + 1) * row.gradients
                if not self.waits:
                    after = min(after, max(0, gradients // 2 - row.gradients))
                if size + row.backward + after + backward > most:
                    most = size + row.backward + after + backward
                    copies = held + (index + 1) * row.copies + backward
                    best = (size + row.backward + backward, after, copies, "backward")
            before, held, done = before + n * row.saved, held + n * row.copies, done + n * row.gradients
        return best

    def _counts(self, count: int, first: bool) -> list[tuple[int, int]]:
        """The repeated layers of a stage, and those before them on the first: part and number."""
        before = [(number, part.count) for number, part in enumerate(self.net.parts[: self.block]) if first]
        return [*before, (self.block, count)]

    def _buffers(self, at: Setting, first: bool, pipeline: bool, attention: int) -> int:
        """The input as it is fed (whole on every card), its slice, and constants: the masks of layers with attention.

        One graph for all micro-batches has a mask of its own for each layer: forward, backward, and when the layer is
        recomputed. Otherwise all layers share one.
        """
        net = self.net
        fed = self.job.global_batch * net.input_bytes
        size = fed if first or not pipeline else 0
        if first and (at.dp > 1 or at.pipeline):
            size += at.batch * net.input_bytes // at.cp
        if net.family == "mlp":
            size += at.batch * net.input_bytes
        if net.heads and not net.picture:
            copies = attention * (3 if at.recompute == "full" else 2) if at.pipeline else 1
            if net.attention == "plain":
                size += (copies if not at.eager else 1) * net.seq * net.seq * 4
            elif not at.eager:
                size += copies * MASK
        return size


def _gathered(rows: list[tuple[Profile, int]], at: Setting, more: bool) -> dict[str, int]:
    """Bytes of gathered weights at each moment of a step.

    MindSpore frees them when no micro-batch reads them any more: the table of an embedding when the last one has passed
    it, the others before the optimizer runs. FSDP2 holds what is in no layer for the whole step.
    """
    gathered = sum(row.gathered * n for row, n in rows)
    if at.eager:
        return dict.fromkeys(("forward", "backward", "optimizer"), gathered)
    unread = 0 if more else sum(row.unread * n for row, n in rows)
    return {"forward": gathered - unread, "backward": gathered - unread, "optimizer": 0}
