"""The operators of one layer with what each keeps for the backward pass, and the liveness of their tensors.

The rules are those seen in MindSpore 2.10's memory tracker (dry runs, 2026-11-16): docs/concepts/parallel-memory.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

WHOLE, TENSOR, SEQUENCE = "", "t", "s"
"""A tensor is whole on every card, divided by tensor parallel, or divided when sequence parallel is on."""


class Value(NamedTuple):
    size: int
    """Bytes for one sample."""
    split: str


class Weight(NamedTuple):
    name: str
    elements: int
    split: bool
    """Divided by tensor parallel?"""
    kept: bool
    """Does the backward pass read the weight itself?"""
    cast: bool = True
    """Is it cast to the computed dtype before use?"""
    expert: bool = False
    """Divided by expert parallel?"""


class Op(NamedTuple):
    kind: str
    inputs: tuple[int, ...]
    output: int
    keeps: tuple[int, ...]
    weights: tuple[int, ...]
    flops: int
    """Of the forward pass for one sample, on all cards of a tensor-parallel group together."""
    view: bool
    extra: int
    """Bytes for one sample that the backward pass needs for a moment, over gradients in and out."""
    split: str


@dataclass
class Tape:
    """Operators in the order of the forward pass; value 0 is the input."""

    values: list[Value] = field(default_factory=list)
    weights: list[Weight] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    reduced: list[int] = field(default_factory=list)
    """Values that tensor parallel adds up over its cards after the forward pass of their operator."""
    exchanged: int = 0
    """Bytes for one sample that experts exchange in one direction."""
    selective: set[int] = field(default_factory=set)
    """Operators that selective recompute does again: those of the attention scores."""

    def value(self, size: int, split: str = WHOLE) -> int:
        self.values.append(Value(size, split))
        return len(self.values) - 1

    def op(
        self, kind: str, inputs: tuple[int, ...], size: int, split: str = WHOLE, *, keeps: tuple[int, ...] = (),
        own: bool = False, weights: tuple[int, ...] = (), flops: int = 0, view: bool = False, extra: int = 0,
        again: bool = False,
    ) -> int:  # fmt: skip
        """Add an operator; `own` says that the backward pass reads its output."""
        out = self.value(size, split)
        self.ops.append(Op(kind, inputs, out, (*keeps, *((out,) if own else ())), weights, flops, view, extra, split))
        if again:
            self.selective.add(len(self.ops) - 1)
        return out

    def weight(self, name: str, elements: int, *, split: bool = False, kept: bool = True, cast: bool = True) -> int:
        self.weights.append(Weight(name, elements, split, kept, cast))
        return len(self.weights) - 1

    @property
    def out(self) -> int:
        return self.ops[-1].output

    def elements(self) -> int:
        return sum(weight.elements for weight in self.weights)


class Setting(NamedTuple):
    """What decides the size of everything in a layer."""

    batch: int
    """Samples that pass through at once on one card."""
    tp: int = 1
    dp: int = 1
    sequence: bool = False
    shard: bool = False
    """Are weights and optimizer state divided over the data-parallel cards?"""
    recompute: str = "none"
    kept: int = 4
    """Bytes of a weight."""
    computed: int = 2
    """Bytes of a weight as the operators read it."""
    pipeline: bool = False
    """Gradients are added up over micro-batches, and each micro-batch has its own copies of the weights."""
    ep: int = 1
    gradient: int = 4
    level: int = 0
    """Optimizer shard level: at 3 gathered weights are gathered again in the backward pass."""


class Profile(NamedTuple):
    """Bytes of one layer over what was there before; the keys of the closed formula in memory.py."""

    forward: int
    """Highest during the forward pass."""
    saved: int
    """Kept after the forward pass, the output included."""
    copies: int
    """Of that, copies of weights: cast or gathered."""
    backward: int
    """Highest during the backward pass, with what was saved and with the gradients of this layer's weights."""
    gradients: int
    """Kept after the backward pass until the optimizer has run."""
    weights: int
    """Bytes of the weights on this card."""
    state: int
    """Elements on this card that the optimizer has a state for."""
    local: int
    """Elements of the weights on this card before the optimizer shard."""


SHARD_LEAST = 64 * 1024
"""Bytes below which MindSpore leaves a weight whole (`parallel_optimizer_threshold`, 64 KB)."""


def is_sharded(weight: Weight, at: Setting) -> bool:
    return at.shard and at.dp > 1 and weight.elements * at.kept // _cards(weight, at) >= SHARD_LEAST


def _cards(weight: Weight, at: Setting) -> int:
    return at.tp if weight.split else at.ep if weight.expert else 1


def profile(tape: Tape, at: Setting) -> Profile:
    """Walk the operators forward and backward once, and note how much is alive."""
    return _Walk(tape, at).run()


class _Walk:
    def __init__(self, tape: Tape, at: Setting) -> None:
        self.tape, self.at = tape, at
        divisors = {WHOLE: 1, TENSOR: at.tp, SEQUENCE: at.tp if at.sequence else 1}
        self.sizes = [value.size * at.batch // divisors[value.split] for value in tape.values]
        self.divisors = divisors
        self.local = [weight.elements // _cards(weight, at) for weight in tape.weights]
        self.live = self.peak = 0
        self.held: dict[int, int] = {}
        """Uses left of each value that is alive."""
        self.root = list(range(len(tape.values)))
        for op in tape.ops:
            if op.view:
                self.root[op.output] = self.root[op.inputs[0]]

    def run(self) -> Profile:
        tape, at = self.tape, self.at
        again = {"none": set(), "full": set(range(len(tape.ops))), "selective": tape.selective}[at.recompute]
        copies, lasting = self._forward(again)
        forward, saved = self.peak, self.live
        self.peak = self.live
        gradients = self._backward(again, copies, lasting)
        backward = self.peak
        weights = state = 0
        for weight, local in zip(tape.weights, self.local, strict=True):
            share = at.dp if is_sharded(weight, at) else 1
            weights += local * at.kept // share
            state += local // share
        return Profile(forward, saved, sum(copies.values()), backward, gradients, weights, state, sum(self.local))

    def _grow(self, size: int) -> None:
        self.live += size
        self.peak = max(self.peak, self.live)

    def _copy(self, index: int) -> int:
        """Bytes of the copy that an operator reads instead of the weight; 0 if it reads the weight."""
        weight, at = self.tape.weights[index], self.at
        cast = weight.cast and at.computed != at.kept
        if is_sharded(weight, at):
            return self.local[index] * (at.computed if cast else at.kept)
        if cast:
            return self.local[index] * at.computed
        return self.local[index] * at.kept if at.pipeline and weight.kept else 0

    def _last_uses(self, again: set[int]) -> dict[int, int]:
        """The last operator of the forward pass that reads a value; values kept for the backward pass are not here."""
        ops, root = self.tape.ops, self.root
        kept = {root[v] for n, op in enumerate(ops) if n not in again for v in op.keeps}
        kept |= {root[v] for n in again for v in ops[n].inputs if self._maker(v) not in again}
        kept |= {0, root[self.tape.out]}
        last: dict[int, int] = {}
        for number, op in enumerate(ops):
            for value in (*op.inputs, op.output):
                last[root[value]] = number
        return {value: number for value, number in last.items() if value not in kept}

    def _maker(self, value: int) -> int:
        return next((number for number, op in enumerate(self.tape.ops) if op.output == value), -1)

    def _forward(self, again: set[int]) -> tuple[dict[int, int], set[int]]:
        """Returns the copies of weights that outlive the forward pass, and which of them are not made again."""
        ends = self._last_uses(again)
        by_op: dict[int, list[int]] = {}
        for value, number in ends.items():
            by_op.setdefault(number, []).append(value)
        copies: dict[int, int] = {}
        lasting: set[int] = set()
        for number, op in enumerate(self.tape.ops):
            passing = 0
            for index in op.weights:
                size = self._copy(index)
                stays = self.tape.weights[index].kept and (number not in again or is_sharded(self.tape.weights[index], self.at))
                if size and stays:
                    copies[index] = size
                    lasting.add(index)
                else:
                    passing += size
                self._grow(size)
            if not op.view:
                self._grow(self.sizes[op.output] * (2 if op.output in self.tape.reduced and self.at.tp > 1 else 1))
                if op.output in self.tape.reduced and self.at.tp > 1:
                    self.live -= self.sizes[op.output]
            self.live -= passing
            self.live -= sum(self.sizes[value] for value in by_op.get(number, ()))
        return copies, lasting

    def _remake(self, again: set[int], copies: dict[int, int], lasting: set[int]) -> set[int]:
        """Do the recomputed operators again: what they keep is alive from here on."""
        ops, root = self.tape.ops, self.root
        needed = {root[v] for op in ops for v in op.keeps}
        have = {root[v] for n, op in enumerate(ops) if n not in again for v in op.keeps} | {0, root[self.tape.out]}
        made: set[int] = set()
        last = {root[v]: n for n in sorted(again) for v in (*ops[n].inputs, ops[n].output)}
        for number in sorted(again):
            op = ops[number]
            for index in op.weights:
                if index not in lasting and self._copy(index):
                    self._grow(self._copy(index))
                    if self.tape.weights[index].kept:
                        copies[index] = self._copy(index)
                    else:
                        self.live -= self._copy(index)
            value = root[op.output]
            if op.view or value in have:
                continue
            if op.output == self.tape.out:
                continue
            self._grow(self.sizes[op.output])
            made.add(value)
            for done in [v for v in made if last.get(v) == number and v not in needed]:
                self.live -= self.sizes[done]
                made.discard(done)
        return made

    def _backward(self, again: set[int], copies: dict[int, int], lasting: set[int]) -> int:
        tape, at, root = self.tape, self.at, self.root
        made = self._remake(again, copies, lasting) if again else set()
        alive = {root[v] for n, op in enumerate(tape.ops) if n not in again for v in op.keeps} | made
        alive |= {root[v] for n in again for v in tape.ops[n].inputs if self._maker(v) not in again}
        alive.add(root[tape.out])
        alive.discard(0)
        first = {}
        for number, op in enumerate(tape.ops):
            for value in op.keeps:
                first.setdefault(root[value], number)
        grads: dict[int, int] = {root[tape.out]: self.sizes[tape.out]}
        self._grow(self.sizes[tape.out])
        if root[tape.out] not in first:
            self.live -= self.sizes[root[tape.out]]
            alive.discard(root[tape.out])
        gradients = 0
        left = dict(copies)
        for number in range(len(tape.ops) - 1, -1, -1):
            op = tape.ops[number]
            if op.view:
                continue
            incoming = grads.pop(root[op.output], 0)
            extra = op.extra * at.batch // self.divisors[op.split]
            for index in op.weights:
                gradients += self._weight_gradient(index)
            for value in op.inputs:
                target = root[value]
                if tape.values[value].size == 0 or self._is_leaf(target):
                    continue
                size = self.sizes[target]
                self._grow(size)
                if target in grads:
                    self._grow(size)
                    self.live -= size + grads[target]
                grads[target] = size
            self._grow(extra)
            self.live -= extra + incoming
            for index in op.weights:
                self.live -= left.pop(index, 0)
            for value in [v for v in alive if first.get(v) == number]:
                self.live -= self.sizes[value]
                alive.discard(value)
        return gradients

    def _is_leaf(self, value: int) -> bool:
        """A constant such as a mask or the token numbers: nothing flows back into it."""
        return value != 0 and all(self.root[op.output] != value for op in self.tape.ops)

    def _weight_gradient(self, index: int) -> int:
        """Make the gradient of a weight; returns the bytes that stay."""
        at, local, weight = self.at, self.local[index], self.tape.weights[index]
        whole = local * at.gradient
        if weight.cast and at.computed != at.gradient:
            self._grow(local * at.computed + whole)
            self.live -= local * at.computed
        else:
            self._grow(whole)
        if at.pipeline:
            self.live -= whole
            return 0
        kept = whole
        if at.dp > 1:
            result = whole // at.dp if is_sharded(weight, at) else whole
            self._grow(result)
            kept += result
        return kept
