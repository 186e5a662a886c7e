"""Error bars: compiled against predicted memory in settings drawn at random, published against modelled step times."""

from __future__ import annotations

from typing import NamedTuple

from jumar.parallel.network import Network
from jumar.tables.load import table

COMPARED = "A2"
"""The family of chips of the published runs: Atlas 900 A2 PODc."""


class ErrorBar(NamedTuple):
    """Predicted over compiled memory, minus one, in settings that were drawn before they were compiled."""

    settings: int
    lowest: float
    highest: float


def bar(net: Network) -> ErrorBar | None:
    """Of networks like this one; None where nothing was compiled: PyTorch is measured, not compiled."""
    if net.framework != "mindspore" or not net.heads or net.traced:
        return None
    kind = "half" if net.kept != "float32" else "experts" if net.experts else "dense"
    row = table("parallel_error.json")["networks"].get(kind)
    return ErrorBar(**row) if row else None


class TimeBar(NamedTuple):
    """How many times as long as modelled the steps of published runs took."""

    runs: int
    lowest: float
    highest: float
    middle: float


def times(family: str) -> TimeBar | None:
    """Of runs on chips of this family; None where none was compared."""
    return TimeBar(**table("parallel_times.json")["machines"]["ascend"]) if family == COMPARED else None
