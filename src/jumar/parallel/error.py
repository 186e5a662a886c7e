"""How far compiled memory was from predicted memory in settings drawn at random: the error bar of a prediction."""

from __future__ import annotations

from typing import NamedTuple

from jumar.parallel.network import Network
from jumar.tables.load import table


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
