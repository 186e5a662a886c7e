"""What a record holds and what a comparison says: values only, read by reports."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from jumar.core.compat import dataclass

STATS = ("min", "max", "sum", "norm", "nan", "inf")
"""Statistics of a tensor, in the order of the columns before the sketch."""


@dataclass(frozen=True, slots=True)
class Out:
    """One tensor that an operator made; `row` leads to its numbers, -1 if it has none."""

    dtype: str
    shape: tuple[int, ...]
    row: int = -1

    @property
    def numel(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class RecordEntry:
    """One operator call, or a tensor that came from outside (weight, buffer, input) or was looked at (grad, state)."""

    index: int
    kind: str
    """`op`, `view`, `weight`, `buffer`, `input`, `grad`, `state`; `arg` in a vendor's dump."""
    op: str
    name: str
    phase: str
    """`forward`, `backward` or `optimizer`."""
    module: str
    where: str
    inputs: tuple[int, ...]
    args: dict[str, Any]
    outs: tuple[Out, ...]
    shapes: tuple[tuple[int, ...] | None, ...] = ()
    """Of the inputs, where they are views of what their source made."""

    @property
    def label(self) -> str:
        return f"op{self.index}"

    @property
    def title(self) -> str:
        """What a person calls it: the operator, or the kind and name of a tensor."""
        return self.op.removesuffix(".default") if self.kind in ("op", "view") else f"{self.kind} `{self.name}`"


@dataclass(frozen=True, slots=True)
class Curve:
    """One training step in two numbers; None where the program showed none."""

    step: int
    loss: float | None
    grad_norm: float | None


@dataclass(frozen=True, slots=True)
class Error:
    """How far two tensors are apart: relative L2 error, cosine, and how it was found out."""

    relative: float
    cosine: float
    how: str = "sketch"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two operators that belong together, with the error of inputs and outputs and the noise that is expected."""

    step: int
    a: RecordEntry
    b: RecordEntry
    error: float
    cosine: float
    floor: float
    error_in: float
    over: float
    """Error over floor."""
    over_in: float
    arguments: tuple[str, ...] = ()
    """Arguments that differ, as `name: old -> new`."""
    local: float = 0.0
    """The floor without what errors of the inputs hand on."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The first thing that differs."""

    kind: str
    """`same`, `within`, `weights`, `inputs`, `operator`, `arguments`, `random`, `overflow`, `order`, `gradients`,
    `loss`, `curve`; `inconclusive` where the records cannot tell."""
    message: str
    meaning: str
    pair: Pair | None = None
    between: tuple[str, ...] = ()
    """Operators on one side only, just before it."""

    @property
    def differs(self) -> bool:
        return self.kind not in ("same", "within", "inconclusive")

    @property
    def answer(self) -> str:
        """The first word of a report."""
        return "DIFFERENT" if self.differs else "INCONCLUSIVE" if self.kind == "inconclusive" else "SAME"


@dataclass(frozen=True, slots=True)
class Explained:
    """How much of a difference the card's arithmetic accounts for."""

    rule: str
    """Such as `HF32 in float32 convolutions`."""
    proved: int
    """Products whose error it explains, of `products` that it is about."""
    products: int
    without: float
    """The largest error of those, against the plain reference."""
    rest: float
    """The same against the reference with the card's arithmetic."""
    fits: bool


@dataclass(frozen=True, slots=True)
class Side:
    """What a record says about itself."""

    path: str
    device: str
    dtype: str
    torch: str
    steps: int
    operators: int
    ranks: int


@dataclass(slots=True)
class Comparison:
    """Everything a report shows."""

    a: Side
    b: Side
    rank: int
    precision: str
    floor_source: str
    limit: float
    verdict: Verdict
    pairs: list[Pair] = field(default_factory=list)
    only_a: list[str] = field(default_factory=list)
    only_b: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    """Of the environment: versions, settings."""
    curves: dict[str, list[Curve]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    reproducer: str = ""
    explained: Explained | None = None

    def ranked(self) -> list[Pair]:
        return sorted(self.pairs, key=lambda pair: -pair.over)
