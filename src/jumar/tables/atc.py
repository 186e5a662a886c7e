"""What ATC takes: operators by opset, the values of its options, the keys of an AIPP file."""

from __future__ import annotations

from functools import cache
from typing import Any

from jumar.tables.load import table


@cache
def parsed() -> dict[str, tuple[int, int]]:
    """Operators of ONNX's own domain with the lowest and highest opset that has a parser."""
    rows = table("atc_onnx_ops.json")["operators"]
    return {name: (low, high) for name, (low, high) in rows.items()}


def options() -> dict[str, Any]:
    return table("atc.toml")


def newest_opset() -> int:
    return int(options()["newest_opset"])


def oldest_opset() -> int:
    """The opset from which on most operators are parsed."""
    lows = [low for low, _ in parsed().values()]
    return max(set(lows), key=lows.count)


def is_parsed(operator: str, opset: int) -> bool:
    if operator in options()["bypass"]:
        return opset <= newest_opset()
    low, high = parsed().get(operator, (1, 0))
    return low <= opset <= high


def note(operator: str) -> str | None:
    """The way round an operator that has no parser."""
    found: str | None = options()["operators"].get(operator)
    return found


def precisions() -> dict[str, tuple[str, str]]:
    """Modes of precision: the option that takes the mode, and what it does to float32."""
    return {name: (option, effect) for name, (option, effect) in options()["precision"].items()}


def gears(family: str) -> int:
    """How many gears one dynamic mode may have."""
    rows = options()["families"]["gears"]
    return int(rows.get(family, rows["other"]))
