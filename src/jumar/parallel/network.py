"""What a network is for the planner: a start, equal or different layers, an end; each a tape of operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

from jumar.parallel import conv, transformer, vision
from jumar.parallel.architecture import Architecture
from jumar.parallel.tape import Layer

MAKERS: dict[str, Callable[[Architecture], tuple[Layer, ...]]] = {
    "conv": conv.parts, "mlp": transformer.stack, "vit": vision.parts,
}  # fmt: skip
PADDING = 128


@dataclass(frozen=True)
class Network(Architecture):
    """An architecture with its layers; those of a traced module are given."""

    traced: tuple[Layer, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def parts(self) -> tuple[Layer, ...]:
        """Start, blocks and end, in order."""
        if self.traced:
            return self.traced
        return MAKERS.get(self.family, transformer.parts)(self)

    @cached_property
    def parameters(self) -> int:
        return sum(part.count * part.tape.elements() for part in self.parts)

    @cached_property
    def flops(self) -> int:
        """Of the forward pass for one sample."""
        return sum(part.count * op.flops for part in self.parts for op in part.tape.ops)

    def with_(self, **changes: object) -> Network:
        return replace(self, **changes)  # type: ignore[arg-type]

    def padded(self) -> Network:
        """A vocabulary that cards cannot share is filled up, as training frameworks do."""
        if self.vocab % 8 == 0 or self.picture:
            return self
        wide = -(-self.vocab // PADDING) * PADDING
        note = f"the vocabulary of {self.vocab} is filled up to {wide}, a multiple of {PADDING}"
        return self.with_(vocab=wide, notes=(*self.notes, note))
