"""What is documented about the chips' arithmetic: the rules of `numerics.toml`, with their sources."""

from __future__ import annotations

from functools import cache
from typing import Any

from jumar.core.compat import dataclass
from jumar.tables.load import table

KINDS = ("convolution", "matmul", "bias", "flag", "flush", "move")
"""Lists of operators that hold on every chip that has the rule; those of `order` name their chips."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a rule is written down."""

    address: str
    title: str
    date: str
    quote: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One way in which chips compute otherwise than the CPU."""

    name: str
    says: str
    short: str
    chips: tuple[str, ...]
    sources: tuple[Source, ...]
    switch: str = ""


@cache
def rules() -> tuple[Rule, ...]:
    return tuple(_rule(row) for row in table("numerics.toml")["rules"])


def of_chip(family: str) -> tuple[Rule, ...]:
    """The rules of a family of chips."""
    return tuple(rule for rule in rules() if family in rule.chips)


def unknown() -> tuple[tuple[str, str], ...]:
    """What was looked for and not found: the question, and what there is."""
    return tuple((row["says"], row["found"]) for row in table("numerics.toml")["unknown"])


def operators(family: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """Kind, operator and its arguments, for the rules that a family of chips has."""
    content = table("numerics.toml")["operators"]
    names = {rule.name for rule in of_chip(family)}
    wanted = [kind for kind in KINDS if kind != "flush" or "subnormals" in names]
    rows = [(kind, name, tuple(arguments)) for kind in wanted for name, arguments in content[kind].items()]
    for kind, lists in content["order"].items():
        if family in lists["chips"]:
            rows += [(f"order:{kind}", name, tuple(found)) for name, found in lists.items() if name != "chips"]
    return rows


def _rule(row: dict[str, Any]) -> Rule:
    sources = tuple(Source(**source) for source in row["sources"])
    return Rule(**{**row, "chips": tuple(row["chips"]), "sources": sources})
