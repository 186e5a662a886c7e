"""Opens what the user names: a record of Jumar, or a dump of the vendor's tool."""

from __future__ import annotations

from pathlib import Path

from jumar.compare import store, vendor
from jumar.compare.result import STATS
from jumar.compare.store import Rank, RecordedStep

_UNSCALES = "aten._amp_foreach_non_finite_check_and_unscale_"
"""From here on gradients have no factor any more."""
_MAX = STATS.index("max")
_COUNTS = [STATS.index("nan"), STATS.index("inf")]


def ranks(path: Path) -> list[Rank]:
    """The processes of a record or dump, by rank."""
    return vendor.ranks(path) if vendor.is_dump(path) else store.ranks(path)


def read_step(path: Path) -> RecordedStep:
    return vendor.read_step(path) if path.name == vendor.DUMP else store.read_step(path)


def step(rank: Rank, number: int) -> RecordedStep:
    """A step by the number that it has in the record: a single step of a dump may be called otherwise there."""
    return read_step(rank.steps[number])._replace(number=number)


def unscaled(step: RecordedStep) -> RecordedStep:
    """The same without the factor of a gradient scaler: only then can its gradients be compared with others."""
    if step.scale == 1:
        return step
    numbers = step.numbers.copy()
    counts = numbers[:, _COUNTS].copy()
    numbers[sorted(_scaled_rows(step))] /= step.scale
    numbers[:, _COUNTS] = counts
    return step._replace(numbers=numbers)


def _scaled_rows(step: RecordedStep) -> set[int]:
    """From the loss's own gradient, which is the factor itself, to where gradients lose it again."""
    scaled: set[int] = set()
    rows: set[int] = set()
    for entry in step.entries:
        if entry.op.startswith(_UNSCALES):
            break
        if entry.kind != "op" or entry.phase != "backward":
            continue
        own = [out.row for out in entry.outs if out.row >= 0]
        is_root = any(
            out.numel == 1 and step.numbers[out.row][_MAX] == step.scale for out in entry.outs if out.row >= 0
        )
        if is_root or not scaled.isdisjoint(entry.inputs):
            scaled.add(entry.index)
            rows.update(own)
    return rows
