"""The quantities that decide all sizes in a layer, and the bytes of a layer for every batch and number of cards."""

from __future__ import annotations

from typing import NamedTuple

from jumar.core.compat import dataclass
from jumar.parallel.tape import Value, Weight

SHARD_LEAST = 64 * 1024
"""Bytes below which MindSpore leaves a weight whole (`parallel_optimizer_threshold`, 64 KB)."""


class Setting(NamedTuple):
    """The quantities that decide all sizes in a layer."""

    batch: int
    """Samples that pass through at once on one card."""
    tp: int = 1
    dp: int = 1
    """Cards with the same weights: data- times context-parallel ones."""
    sequence: bool = False
    shard: bool = False
    """Are weights and optimizer state divided over the data-parallel cards?"""
    recompute: str = "none"
    kept: int = 4
    """Bytes of a weight."""
    computed: int = 2
    """Bytes of a weight as the operators read it."""
    pipeline: bool = False
    """MindSpore, or stages: gradients are added up over micro-batches in tensors of their own."""
    adds: bool = False
    """PyTorch: the gradients of one micro-batch stay while the next one passes."""
    staged: bool = False
    """The embedding and the head are on different stages: a table that they share is there twice."""
    moved: bool = False
    """Each micro-batch in flight has its own copies of the weights; a stage that goes straight back has none."""
    ep: int = 1
    gradient: int = 4
    level: int = 0
    """Optimizer shard level: at 3 weights are gathered again in the backward pass; MindSpore does so with recompute."""
    eager: bool = False
    """PyTorch: gradients are reduced layer by layer, and autocast leaves norms and residuals in float32."""
    cp: int = 1
    """Context-parallel cards: each has so small a piece of a sample's values."""
    offload: bool = False
    """Does what a layer saves leave the card until its backward pass?"""
    root: bool = False
    """Of FSDP2: what is in no layer is gathered for the whole step, and scattered last."""

    def width(self, value: Value) -> int:
        """How many times as large PyTorch's autocast makes a value than the computed dtype does."""
        return self.gradient // self.computed if self.autocast and value.wide else 1

    @property
    def autocast(self) -> bool:
        """Does PyTorch cast the inputs of products? FSDP2 casts weights instead."""
        return self.eager and not self.shard and self.computed < self.gradient

    @property
    def kind(self) -> Setting:
        """The same for every batch, and for every number of copies of experts and of other weights above one."""
        level = self.level if self.shard else 0
        few = self.ep * min(2, self.dp // self.ep)
        return self._replace(batch=1, dp=few, level=level, shard=self.shard and self.dp > 1, cp=1, offload=False)


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes for each sample, bytes that are always there, and bytes that cards with the same weights share."""

    sample: int = 0
    fixed: int = 0
    shared: int = 0
    """Over all data-parallel cards."""
    spread: int = 0
    """Of experts: over the data-parallel cards that hold the same ones."""

    def __add__(self, other: Size) -> Size:
        return Size(
            self.sample + other.sample, self.fixed + other.fixed, self.shared + other.shared,
            self.spread + other.spread,
        )  # fmt: skip

    def __sub__(self, other: Size) -> Size:
        return Size(
            self.sample - other.sample, self.fixed - other.fixed, self.shared - other.shared,
            self.spread - other.spread,
        )  # fmt: skip

    def __bool__(self) -> bool:
        return bool(self.sample or self.fixed or self.shared or self.spread)

    def covers(self, other: Size) -> bool:
        return (
            self.sample >= other.sample
            and self.fixed >= other.fixed
            and self.shared >= other.shared
            and self.spread >= other.spread
        )

    def at(self, cards: Setting) -> int:
        each = self.sample * cards.batch // cards.cp
        return each + self.fixed + self.shared // cards.dp + self.spread // (cards.dp // cards.ep)


NOTHING = Size()


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
    experts: int
    """Of these, elements of experts."""
    gathered: int
    """Weights of a pipeline that are gathered once for all micro-batches of a step."""
    unread: int
    """Of these, weights that no backward pass reads, such as the table of an embedding."""


class Shape(NamedTuple):
    """A profile for every batch and every number of data-parallel cards: highest moments instead of one number."""

    forward: tuple[Size, ...]
    saved: Size
    copies: Size
    backward: tuple[Size, ...]
    gradients: Size
    weights: Size
    state: Size
    local: Size
    experts: Size
    gathered: Size
    unread: Size

    def at(self, cards: Setting) -> Profile:
        forward, saved, copies, backward, *rest = self
        return Profile(
            max(moment.at(cards) for moment in forward), saved.at(cards), copies.at(cards),
            max(moment.at(cards) for moment in backward), *(size.at(cards) for size in rest),
        )  # fmt: skip


def is_sharded(weight: Weight, at: Setting) -> bool:
    return at.shard and holders(weight, at) > 1 and weight.elements * at.kept // cards_of(weight, at) >= SHARD_LEAST


def cards_of(weight: Weight, at: Setting) -> int:
    """Tensor- and expert-parallel cards that divide a weight."""
    return (at.tp if weight.split else 1) * (at.ep if weight.expert else 1)


def holders(weight: Weight, at: Setting) -> int:
    """Data-parallel cards with the same part of a weight: they add up its gradients, and can share it."""
    return at.dp // at.ep if weight.expert else at.dp
