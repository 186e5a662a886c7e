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
    eager: bool = False
    """PyTorch: gradients are reduced layer by layer, and autocast leaves norms and residuals in float32."""
    root: bool = False
    """Of FSDP2: what is in no layer is gathered for the whole step, and scattered last."""

    def width(self, value: Value) -> int:
        """How many times as large PyTorch's autocast makes a value than the computed dtype does."""
        autocast = self.eager and not self.shard and self.computed < self.gradient
        return self.gradient // self.computed if autocast and value.wide else 1

    @property
    def kind(self) -> Setting:
        """The same for every batch and for every number of data-parallel cards above one."""
        level = self.level if self.shard else 0
        return self._replace(batch=1, dp=min(2, self.dp), level=level, shard=self.shard and self.dp > 1)


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes for each sample, bytes that are always there, and bytes that the data-parallel cards share."""

    sample: int = 0
    fixed: int = 0
    shared: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(self.sample + other.sample, self.fixed + other.fixed, self.shared + other.shared)

    def __sub__(self, other: Size) -> Size:
        return Size(self.sample - other.sample, self.fixed - other.fixed, self.shared - other.shared)

    def __bool__(self) -> bool:
        return bool(self.sample or self.fixed or self.shared)

    def covers(self, other: Size) -> bool:
        return self.sample >= other.sample and self.fixed >= other.fixed and self.shared >= other.shared

    def at(self, batch: int, dp: int) -> int:
        return self.sample * batch + self.fixed + self.shared // dp


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
    gathered: int
    """Weights of a pipeline that are gathered once for all micro-batches of a step."""


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
    gathered: Size

    def at(self, batch: int, dp: int) -> Profile:
        forward, saved, copies, backward, *rest = self
        return Profile(
            max(moment.at(batch, dp) for moment in forward), saved.at(batch, dp), copies.at(batch, dp),
            max(moment.at(batch, dp) for moment in backward), *(size.at(batch, dp) for size in rest),
        )  # fmt: skip


def is_sharded(weight: Weight, at: Setting) -> bool:
    return at.shard and at.dp > 1 and weight.elements * at.kept // cards_of(weight, at) >= SHARD_LEAST


def cards_of(weight: Weight, at: Setting) -> int:
    """Tensor- or expert-parallel cards that divide a weight."""
    return at.tp if weight.split else at.ep if weight.expert else 1
