"""What triton-ascend and the cards take of Triton's language (`data/triton_limits.toml`)."""

from __future__ import annotations

from functools import cache
from typing import Any

from jumar.tables.load import table


@cache
def _rows() -> dict[str, Any]:
    found: dict[str, Any] = table("triton_limits.toml")
    return found


def source() -> str:
    """Where the tables stand."""
    return str(_rows()["source"])


def most_programs() -> int:
    return int(_rows()["most_programs"])


@cache
def options() -> frozenset[str]:
    """Words that a launch takes beside the kernel's arguments: of Triton's compilers and of triton-ascend's."""
    return frozenset(_rows()["options"])


@cache
def missing_types(function: str) -> frozenset[str]:
    """Data types that a function of the language does not take on a card."""
    return frozenset(_rows()["missing_types"].get(function, ()))


def function(built: str, words: tuple[Any, ...]) -> str:
    """The function of the language behind what a kernel builds."""
    name = str(_rows()["built"].get(built, ""))
    if name == "atomic":
        operation = str(words[0]).rsplit(".", 1)[-1].lower()
        name = f"atomic_{operation.removeprefix('f').removeprefix('u') if operation != 'fadd' else 'add'}"
    return name
