"""Packages that are made for CUDA, and what to do about each on NPUs."""

from __future__ import annotations

from functools import cache

from jumar.core.compat import dataclass
from jumar.core.finding import State
from jumar.tables.load import table


@dataclass(frozen=True, slots=True)
class Recipe:
    name: str
    state: State
    note: str
    fix: str | None = None
    source: str = ""
    own_devices: bool = False
    """Has the package a list of devices of its own, without NPUs?"""


@cache
def recipes() -> dict[str, Recipe]:
    sources = table("third_party.toml")["sources"]
    return {
        name: Recipe(
            name,
            State[row["state"].upper()],
            row["note"],
            row.get("fix"),
            sources[row["source"]],
            row.get("own_devices", False),
        )
        for name, row in table("third_party.toml")["packages"].items()
    }


@cache
def roots() -> tuple[str, ...]:
    """The first words of all rows: what an import must begin with."""
    return tuple(sorted({name.partition(".")[0] for name in recipes()}))


@cache
def own_devices() -> tuple[str, ...]:
    """The packages that take `cpu` and `cuda`, and would refuse `npu`."""
    return tuple(name for name, row in recipes().items() if row.own_devices)


@cache
def recipe(name: str) -> Recipe | None:
    """The row for a dotted name: its own or that of the longest name above it."""
    rows = recipes()
    while name:
        if name in rows:
            return rows[name]
        name = name.rpartition(".")[0]
    return None
