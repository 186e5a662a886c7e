"""Packages and programs of a CUDA machine, and what does their work on an Ascend machine."""

from __future__ import annotations

from functools import cache

from jumar.core.compat import dataclass
from jumar.core.finding import State
from jumar.tables.load import table


@dataclass(frozen=True, slots=True)
class Package:
    name: str
    state: State
    note: str
    use: str | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    note: str
    npu: str | None = None


@cache
def packages() -> dict[str, Package]:
    """Rows by name; names that end in `*` stand for all that start alike."""
    rows = table("packages.toml")["packages"]
    return {name: Package(name, State[row["state"].upper()], row["note"], row.get("use")) for name, row in rows.items()}


@cache
def package(name: str) -> Package | None:
    """The row for a project by its normal name (`flash-attn`): its own, else the longest family that fits."""
    rows = packages()
    if name in rows:
        return rows[name]
    fitting = [family for family in rows if family.endswith("*") and name.startswith(family[:-1])]
    return rows[max(fitting, key=len)] if fitting else None


@cache
def tools() -> dict[str, Tool]:
    return {name: Tool(name, row["note"], row.get("npu")) for name, row in table("tools.toml")["tools"].items()}
