"""Names and context keys of MindSpore that have moved since 2021, and what to write today."""

from __future__ import annotations

from functools import cache

from jumar.core.compat import dataclass
from jumar.tables.load import table


@dataclass(frozen=True, slots=True)
class Moved:
    name: str
    now: str | None = None
    gone: str | None = None
    """The first wheel looked at that does not have the old name; None while it still works."""
    since: str | None = None
    """The version that made the new name."""
    fix: str | None = None

    @property
    def reason(self) -> str:
        if self.gone:
            return f"gone in {self.gone}"
        return f"renamed in {self.since}" if self.since else "the old place still works"


@dataclass(frozen=True, slots=True)
class ContextKey:
    name: str
    drop: bool = False
    """It can be left out whatever its value."""
    off: tuple[str, ...] = ()
    """Values that say what is so without it."""
    only: tuple[str, ...] = ()
    """The values that `call` can stand for; all when empty."""
    call: str | None = None
    """The call of today, below `mindspore`, with `{}` for the value."""
    fix: str | None = None
    note: str | None = None


@cache
def names() -> dict[str, Moved]:
    return {name: Moved(name, **row) for name, row in table("mindspore_names.toml")["names"].items()}


@dataclass(frozen=True, slots=True)
class Argument:
    now: str = ""
    """The name of today; without one and without advice the argument is simply left out."""
    fix: str | None = None


_SAME = ("functional", "composite", "function")
"""Modules below `mindspore.ops` whose functions are those of `mindspore.ops`."""


def arguments(name: str) -> dict[str, Argument]:
    """What became of the arguments of a call, by their old names."""
    words = name.split(".")
    if words[:2] == ["mindspore", "ops"] and len(words) == 4 and words[2] in _SAME:
        del words[2]
    return keywords().get(".".join(words), {})


@cache
def keywords() -> dict[str, dict[str, Argument]]:
    """What became of arguments, by call and old name."""
    rows = table("mindspore_names.toml")["keywords"].items()
    return {name: {old: _argument(new) for old, new in row.items()} for name, row in rows}


def _argument(row: str | dict[str, str]) -> Argument:
    return Argument(row) if isinstance(row, str) else Argument(**row)


@cache
def modules() -> dict[str, Moved]:
    return {name: Moved(name, **row) for name, row in table("mindspore_names.toml")["modules"].items()}


@cache
def parallel_keys() -> dict[str, Moved]:
    return {name: Moved(name, **row) for name, row in table("mindspore_names.toml")["parallel"].items()}


@cache
def context_keys() -> dict[str, ContextKey]:
    return {
        name: ContextKey(
            name,
            row.get("drop", False),
            tuple(row.get("off", ())),
            tuple(row.get("only", ())),
            row.get("call"),
            row.get("fix"),
            row.get("note"),
        )
        for name, row in table("mindspore_names.toml")["context"].items()
    }


@cache
def moved(name: str) -> tuple[Moved, str] | None:
    """The row for a dotted name and what the whole name is today (`""` when it is gone)."""
    found = names().get(name)
    if found is not None:
        return found, found.now or ""
    above = name
    while above:
        row = modules().get(above)
        if row is not None:
            return row, row.now + name.removeprefix(above) if row.now else ""
        above = above.rpartition(".")[0]
    return None
