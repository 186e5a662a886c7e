"""The rows of a pack, as values: what `packs/<library>/rows.toml` may hold.

The head names the rule that the rows are (`id`, `name`, `summary`), the `packages` whose import makes a file a
matter of this pack, the `keywords` without which the Python rows have nothing to say (otherwise the packages' names),
and the `[sources]` with address, version and date. Rows are of four kinds:

- `[[names]]`: a dotted name of the library where Python code uses it, or `.name`, a method of its objects;
- `[[arguments]]`: an argument of a call in Python code, with one of `values` or any, or left out (`missing`);
- `[[options]]`: an option of a command in shell text, Dockerfiles and scripts inside YAML files;
- `[[settings]]`: a key of a YAML, JSON or TOML file that also holds one of the words in `beside`.

Every row has a `state`, a `note`, a `source`, and a `fix` for people. `new` is the text to write instead, where that is
certain; `{value}` in it is the old value.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from jumar.core import tables
from jumar.core.compat import Traversable, dataclass
from jumar.core.finding import State

FILE = "rows.toml"


@dataclass(frozen=True, slots=True)
class Row:
    """What all kinds of rows have."""

    name: str
    """The dotted name, the argument, the option or the end of the key's path."""
    state: State
    note: str
    source: str
    fix: str | None = None
    new: str | None = None
    values: tuple[str, ...] = ()
    """Only with one of these values, as they are written without quotes; any value without."""
    calls: tuple[str, ...] = ()
    """For arguments: the callables, by dotted name; `.name` is a method of an object that is not known."""
    missing: bool = False
    """For arguments: is it the absence that matters?"""
    command: str = ""
    """For options: the command with its subcommand; empty for programs of many names, known by `beside`."""
    beside: tuple[str, ...] = ()
    """For settings: keys that such a file holds as well; for options: how another word of the command begins."""


@dataclass(frozen=True, slots=True)
class Pack:
    folder: str
    id: str
    name: str
    summary: str
    packages: tuple[str, ...]
    keywords: tuple[str, ...]
    sources: dict[str, dict[str, str]]
    names: dict[str, Row] = field(default_factory=dict)
    arguments: dict[str, list[Row]] = field(default_factory=dict)
    """By the last word of the callable."""
    options: tuple[Row, ...] = ()
    settings: dict[str, list[Row]] = field(default_factory=dict)
    """By the last word of the key."""


def read(folder: Traversable) -> Pack | None:
    """The pack in a folder; None when it has rules only."""
    file = folder.joinpath(FILE)
    if not file.is_file():
        return None
    raw = tables.loads(file.read_bytes())
    return Pack(
        folder.name, raw["id"], raw["name"], raw["summary"], tuple(raw.get("packages", ())),
        tuple(raw.get("keywords", ())), raw["sources"],
        {row.name: row for row in _rows(raw, "names")},
        _by(_rows(raw, "arguments"), lambda row: {call.rpartition(".")[2] for call in row.calls}),
        tuple(_rows(raw, "options")),
        _by(_rows(raw, "settings"), lambda row: {row.name.rpartition(".")[2]}),
    )  # fmt: skip


def _rows(raw: dict[str, Any], kind: str) -> list[Row]:
    return [
        Row(
            row["name"], State[row["state"].upper()], row["note"], row["source"], row.get("fix"), row.get("new"),
            tuple(row.get("values", ())), tuple(row.get("calls", ())), row.get("missing", False),
            row.get("command", ""), tuple(row.get("beside", ())),
        )
        for row in raw.get(kind, ())
    ]  # fmt: skip


def _by(rows: list[Row], keys: Any) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        for key in sorted(keys(row)):
            found.setdefault(key, []).append(row)
    return found
