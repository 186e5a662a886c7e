"""The operators of one layer, in the order of the forward pass, with what each keeps for the backward pass."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

WHOLE, TENSOR, SEQUENCE = "", "t", "s"
"""A tensor is whole on every card, divided by tensor parallel, or divided when sequence parallel is on."""


AUTOCAST, JOINED = "autocast", "joined"
"""Operators that PyTorch has in some plans only: under autocast each product makes its own copy of a float32 input, and
with sequence parallel products read an input that is gathered from the cards."""
DENSE = "dense"
"""The name of layers without experts before those with them."""


class Value(NamedTuple):
    size: int
    """Bytes for one sample."""
    split: str
    wide: bool = False
    """Does PyTorch's autocast leave it in float32? Norms and residuals are."""
    once: bool = False
    """Is it there once for all samples, such as a mask?"""


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
    ahead: int = 0
    """Bytes for one sample of a gradient that is made before the operator, since it needs no value of it."""


@dataclass
class Tape:
    """Operators in the order of the forward pass; value 0 is the input."""

    values: list[Value] = field(default_factory=list)
    weights: list[Weight] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    reduced: list[int] = field(default_factory=list)
    """Values that tensor parallel adds up over its cards after the forward pass of their operator."""
    collected: list[int] = field(default_factory=list)
    """Values of which tensor parallel gathers the parts after the forward pass of their operator."""
    late: int = 0
    """Bytes for one sample of the gradient that reaches an embedding: cast to float32 before the cards add it up."""
    exchanged: int = 0
    """Bytes for one sample that experts exchange in one direction."""
    whole: int = 0
    """Bytes for one sample that experts read whole, and sequence parallel gathers for them and scatters back."""
    passed: int = 0
    """Bytes for one sample of keys and values, which context parallel sends round its cards."""
    selective: set[int] = field(default_factory=set)
    """Operators that selective recompute does again: those of the attention scores."""

    def value(self, size: int, split: str = WHOLE, wide: bool = False, once: bool = False) -> int:
        self.values.append(Value(size, split, wide, once))
        return len(self.values) - 1

    def op(
        self, kind: str, inputs: tuple[int, ...], size: int, split: str = WHOLE, *, keeps: tuple[int, ...] = (),
        own: bool = False, weights: tuple[int, ...] = (), flops: int = 0, view: bool = False, extra: int = 0,
        again: bool = False, ahead: int = 0, wide: bool = False, once: bool = False,
    ) -> int:  # fmt: skip
        """Add an operator; `own` says that the backward pass reads its output."""
        out = self.value(size, split, wide, once)
        kept = (*keeps, out) if own else keeps
        self.ops.append(Op(kind, inputs, out, kept, weights, flops, view, extra, split, ahead))
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
        """Values whose gradients tensor parallel adds up: what products with their columns on the cards read.

        Gradients of products that read the same value are added on each card first. Those of narrow vectors of latent
        attention are added up where they begin: MindSpore carries the summands through the products that make them.
        """
        source: dict[int, int] = {}
        for op in self.ops:
            if op.kind in (AUTOCAST, JOINED):
                source[op.output] = source.get(op.inputs[0], op.inputs[0])
        makers = {op.output: op for op in self.ops}
        read = [value for op in self.ops if op.kind == "matmul" and op.split == TENSOR for value in op.inputs]
        return list(dict.fromkeys(_source(source.get(value, value), makers) for value in read))

    def without(self, *kinds: str) -> Tape:
        """The same in a plan that has no operators of these kinds."""
        return replace(self, ops=[op._replace(view=True) if op.kind in kinds else op for op in self.ops])

    def elements(self) -> int:
        return sum(weight.elements for weight in self.weights)


def _source(value: int, makers: dict[int, Op]) -> int:
    """The value that a narrow vector is made of, all of it on every card; the value itself if it is not made so."""
    start, at = value, value
    while (op := makers.get(at)) and op.split == WHOLE and op.kind in ("norm", "slice", "matmul"):
        at = op.inputs[0]
        start = at if op.kind == "matmul" else start
    return start


@dataclass(frozen=True)
class Layer:
    """One or more equal layers in a row."""

    name: str
    tape: Tape
    count: int = 1
