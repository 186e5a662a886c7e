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
    orders: dict[str, Order] = field(default_factory=dict)

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

    @property
    def returned(self) -> list[int]:
        """Values whose gradients tensor parallel adds up: the input of every product with its columns on the cards.

        MindSpore adds up once for each product, also when several read the same value.
        """
        return [value for op in self.ops if op.kind == "matmul" and op.split == TENSOR for value in op.inputs]

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
    """Gradients are added up over micro-batches."""
    moved: bool = False
    """Each micro-batch in flight has its own copies of the weights; a stage that goes straight back has none."""
    ep: int = 1
    gradient: int = 4
    level: int = 0
    """Optimizer shard level: at 3 weights are gathered again in the backward pass; MindSpore does so with recompute."""


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


@dataclass(frozen=True)
class Order:
    """What does not depend on sizes: computed once for a tape and a kind of recompute."""

    again: tuple[int, ...]
    """Operators that the backward pass does again."""
    root: tuple[int, ...]
    """The value whose memory a value shares."""
    ends: tuple[tuple[int, ...], ...]
    """Values that are free after each operator of the forward pass."""
    remade: tuple[tuple[int, bool, tuple[int, ...]], ...]
    """Recomputed operators: number, does it make a value again, values that are free after it."""
    kept: frozenset[int]
    """Values alive when the backward pass begins, without what is remade."""
    frees: tuple[tuple[int, ...], ...]
    """Values that are free after the backward pass of each operator."""
    targets: tuple[tuple[int, ...], ...]
    """Values into which gradients flow from each operator."""
    out_needed: bool


def order(tape: Tape, recompute: str) -> Order:
    ops = tape.ops
    again = {"none": set(), "full": set(range(len(ops))), "selective": tape.selective}[recompute]
    root = list(range(len(tape.values)))
    maker = {}
    for number, op in enumerate(ops):
        maker[op.output] = number
        if op.view:
            root[op.output] = root[op.inputs[0]]
    out = root[tape.out]
    kept = {root[v] for n, op in enumerate(ops) if n not in again for v in op.keeps}
    kept |= {root[v] for n in again for v in ops[n].inputs if maker.get(v, -1) not in again}
    last: dict[int, int] = {}
    for number, op in enumerate(ops):
        for value in (*op.inputs, op.output):
            last[root[value]] = number
    ends: list[list[int]] = [[] for _ in ops]
    for value, number in last.items():
        if value not in kept and value not in (0, out):
            ends[number].append(value)
    remade, made = _remade(tape, again, root, kept | {0, out})
    first: dict[int, int] = {}
    for number, op in enumerate(ops):
        for value in op.keeps:
            first.setdefault(root[value], number)
    frees: list[list[int]] = [[] for _ in ops]
    for value in (kept | made | {out}) - {0}:
        if value in first:
            frees[first[value]].append(value)
        elif value != out:
            frees[0].append(value)
    made_by = {root[op.output] for op in ops}
    targets = tuple(
        tuple(root[v] for v in op.inputs if tape.values[v].size and (root[v] == 0 or root[v] in made_by)) for op in ops
    )
    return Order(
        tuple(sorted(again)), tuple(root), tuple(map(tuple, ends)), tuple(remade), frozenset(kept - {0, out}),
        tuple(map(tuple, frees)), targets, out in first,
    )  # fmt: skip


def _remade(
    tape: Tape, again: set[int], root: list[int], have: set[int]
) -> tuple[list[tuple[int, bool, tuple[int, ...]]], set[int]]:
    needed = {root[v] for op in tape.ops for v in op.keeps}
    last = {root[v]: n for n in sorted(again) for v in (*tape.ops[n].inputs, tape.ops[n].output)}
    made: set[int] = set()
    rows = []
    for number in sorted(again):
        op = tape.ops[number]
        value = root[op.output]
        makes = not op.view and value not in have
        if makes:
            made.add(value)
        done = tuple(v for v in made if last.get(v) == number and v not in needed)
        made -= set(done)
        rows.append((number, makes, done))
    return rows, made


def profile(tape: Tape, at: Setting) -> Profile:
    """Walk the operators forward and backward once, and note how much is alive."""
    if at.recompute not in tape.orders:
        tape.orders[at.recompute] = order(tape, at.recompute)
    return _Walk(tape, at, tape.orders[at.recompute]).run()


class _Walk:
    def __init__(self, tape: Tape, at: Setting, known: Order) -> None:
        self.tape, self.at, self.order = tape, at, known
        self.divisors = {WHOLE: 1, TENSOR: at.tp, SEQUENCE: at.tp if at.sequence else 1}
        self.sizes = [value.size * at.batch // self.divisors[value.split] for value in tape.values]
        self.local = [weight.elements // _cards(weight, at) for weight in tape.weights]
        self.sharded = [is_sharded(weight, at) for weight in tape.weights]
        self.copy = [self._copy(index) for index in range(len(tape.weights))]
        self.live = self.peak = 0

    def run(self) -> Profile:
        copies = self._forward()
        forward, saved, held = self.peak, self.live, sum(copies.values())
        self.peak = self.live
        gradients = self._backward(copies)
        weights = state = 0
        for local, sharded in zip(self.local, self.sharded, strict=True):
            share = self.at.dp if sharded else 1
            weights += local * self.at.kept // share
            state += local // share
        return Profile(forward, saved, held, self.peak, gradients, weights, state, sum(self.local))

    def _grow(self, size: int) -> None:
        self.live += size
        if self.live > self.peak:
            self.peak = self.live

    def _copy(self, index: int) -> int:
        """Bytes of the copy that an operator reads instead of the weight; 0 if it reads the weight."""
        weight, at = self.tape.weights[index], self.at
        cast = weight.cast and at.computed != at.kept
        if self.sharded[index]:
            return self.local[index] * (at.computed if cast else at.kept)
        if cast:
            return self.local[index] * at.computed
        return self.local[index] * at.kept if at.moved and weight.kept else 0

    def _is_regathered(self, index: int) -> bool:
        return self.sharded[index] and self.at.level == 3

    def _forward(self) -> dict[int, int]:
        """Returns the copies of weights that outlive the forward pass; a gathered one is not gathered again."""
        again = set(self.order.again)
        copies: dict[int, int] = {}
        split = self.at.tp > 1
        for number, op in enumerate(self.tape.ops):
            passing = 0
            for index in op.weights:
                size = self.copy[index]
                stays = self.tape.weights[index].kept and (number not in again or self.sharded[index])
                if size and stays and not self._is_regathered(index):
                    copies[index] = size
                else:
                    passing += size
                self._grow(size)
            if not op.view:
                size = self.sizes[op.output]
                self._grow(size)
                if split and op.output in self.tape.reduced:
                    self._grow(size)
                    self.live -= size
            self.live -= passing + sum(self.sizes[value] for value in self.order.ends[number])
        return copies

    def _remake(self, copies: dict[int, int]) -> None:
        """Do the recomputed operators again: what they keep is alive from here on."""
        for number, makes, done in self.order.remade:
            op = self.tape.ops[number]
            for index in op.weights:
                if index not in copies and self.copy[index]:
                    self._grow(self.copy[index])
                    if self.tape.weights[index].kept:
                        copies[index] = self.copy[index]
                    else:
                        self.live -= self.copy[index]
            if makes:
                self._grow(self.sizes[op.output])
            self.live -= sum(self.sizes[value] for value in done)

    def _backward(self, copies: dict[int, int]) -> int:
        tape, at, known = self.tape, self.at, self.order
        left = dict(copies)
        if known.again:
            self._remake(left)
        out = known.root[tape.out]
        grads: dict[int, int] = {out: self.sizes[tape.out]}
        self._grow(self.sizes[tape.out])
        if not known.out_needed:
            self.live -= self.sizes[out]
        gradients = 0
        for number in range(len(tape.ops) - 1, -1, -1):
            op = tape.ops[number]
            if op.view:
                continue
            incoming = grads.pop(known.root[op.output], 0)
            for index in op.weights:
                if self._is_regathered(index) and tape.weights[index].kept and index not in left:
                    left[index] = self.copy[index]
                    self._grow(self.copy[index])
                gradients += self._weight_gradient(index)
            for target in known.targets[number]:
                size = self.sizes[target]
                self._grow(size)
                if target in grads:
                    self._grow(size)
                    self.live -= size + grads[target]
                grads[target] = size
            extra = op.extra * at.batch // self.divisors[op.split]
            self._grow(extra)
            self.live -= extra + incoming
            for index in op.weights:
                self.live -= left.pop(index, 0)
            self.live -= sum(self.sizes[value] for value in known.frees[number])
        return gradients

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
            result = whole // at.dp if self.sharded[index] else whole
            self._grow(result)
            kept += result
        return kept
