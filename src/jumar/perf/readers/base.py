"""An SQLite file from elsewhere: opened so that nothing is written or run, its tables and columns asked by name."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jumar.perf.profile import Profile

MAGIC = b"SQLite format 3\0"
_TEXT = 1 << 20
"""Bytes of the longest text that is read."""


class Base(NamedTuple):
    """An open database: its tables with their columns, and its texts."""

    link: sqlite3.Connection
    columns: dict[str, set[str]]
    texts: dict[int, str]
    path: Path
    profile: Profile

    def rows(self, table: str, *columns: str) -> Iterator[tuple[Any, ...]]:
        """The columns of a table, None for one it does not have; what cannot be read is said and left out."""
        known = self.columns.get(table, set())
        if not known & set(columns):
            return
        wanted = ", ".join(f'"{name}"' if name in known else "NULL" for name in columns)
        try:
            yield from self.link.execute(f'SELECT {wanted} FROM "{table}"')
        except (sqlite3.Error, OverflowError) as error:
            self.profile.notes.append(f"`{self.path.name}`: {table} breaks off: {error}")

    def text(self, number: Any) -> str:
        return self.texts.get(number, "") if type(number) is int else ""


@contextlib.contextmanager
def opened(path: Path, profile: Profile) -> Iterator[Base]:
    """Read-only, without a journal beside the file; a broken one is an empty one with a note."""
    link = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    link.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _TEXT)
    link.text_factory = lambda data: data.decode("utf-8", "replace")
    base = Base(link, {}, {}, path, profile)
    try:
        link.execute("PRAGMA trusted_schema = OFF")
        names = [name for (name,) in link.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            found = link.execute("SELECT name FROM pragma_table_info(?)", (name,))
            base.columns[str(name)] = {str(row[0]) for row in found}
    except sqlite3.Error as error:
        profile.notes.append(f"`{path.name}` is damaged: {error}")
    base.texts.update(
        (number, text)
        for number, text in base.rows("STRING_IDS", "id", "value")
        if type(number) is int and type(text) is str
    )
    try:
        yield base
    finally:
        link.close()
