"""The NPU counterparts of a CUDA machine's environment variables and values."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from jumar.core.compat import dataclass
from jumar.core.finding import State
from jumar.tables.load import table


@dataclass(frozen=True, slots=True)
class Variable:
    """What becomes of one variable; `npu` is absent where nothing takes its place."""

    name: str
    npu: str | None = None
    value: str = "same"
    """`same`, `devices` (a list of cards), `allocator` (keys of the caching allocator), `check` (another unit)."""
    state: State = State.REWRITTEN
    note: str = ""
    source: str = ""

    @property
    def is_renamed(self) -> bool:
        """May the name be rewritten, given a value that `convert` accepts?"""
        return self.npu is not None and self.state is State.REWRITTEN


@cache
def variables() -> dict[str, Variable]:
    """The rows with a name of their own."""
    sources = table("environment.toml")["sources"]
    return {
        name: Variable(
            name,
            row.get("npu"),
            row.get("value", "same"),
            State[row["state"].upper()] if "state" in row else State.REWRITTEN,
            row["note"],
            sources[row["source"]],
        )
        for name, row in table("environment.toml")["variables"].items()
    }


@cache
def variable(name: str) -> Variable | None:
    """The row for a variable: its own, else that of its family; None for what is not CUDA's."""
    own = variables().get(name)
    if own is not None:
        return own
    prefixes = table("environment.toml")["prefixes"]
    fitting = [prefix for prefix in prefixes if name.startswith(prefix) and name.upper() == name]
    if not fitting:
        return None
    row = prefixes[max(fitting, key=len)]
    return Variable(name, None, "same", State[row["state"].upper()], row["note"])


_CARDS = re.compile(r"\s*\d+\s*(,\s*\d+\s*)*,?\s*")


def convert(row: Variable, value: str) -> str | None:
    """A constant value as the new variable wants it; None when it has to be looked at."""
    if row.value == "same":
        return value
    if row.value == "devices":
        return _cards(value)
    if row.value == "allocator":
        keys = re.sub(r"\[[^\]]*\]", "", value).split(",")
        known = table("environment.toml")["allocator"]["known"]
        return value if all(key.partition(":")[0].strip() in known for key in keys if key.strip()) else None
    return None


def _cards(value: str) -> str | None:
    """Ascending numbers without blanks; `-1` hides every card on both, other spellings are not documented."""
    if value.strip() == "-1":
        return "-1"
    if not _CARDS.fullmatch(value):
        return None
    cards = [int(part) for part in value.split(",") if part.strip()]
    return ",".join(map(str, sorted(cards))) if len(set(cards)) == len(cards) else None


class NpuVariable(NamedTuple):
    """A variable of an Ascend machine."""

    name: str
    what: str
    default: str
    source: str


@cache
def npu_variables() -> dict[str, NpuVariable]:
    """Variables that CANN, HCCL and the frameworks read."""
    rows = table("npu_environment.toml")
    return {
        name: NpuVariable(name, row["what"], row.get("default", ""), rows["sources"][row["source"]])
        for name, row in rows["variables"].items()
    }
