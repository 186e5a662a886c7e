"""Rows of a pack in YAML, JSON and TOML files: keys of the library's own configuration."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding
from jumar.migrate.passes.packs import said
from jumar.migrate.passes.packs.rows import Pack, Row
from jumar.migrate.syntax.entry import ConfigEntry, Kind
from jumar.migrate.textfile import TextFile


def visit_entry(pack: Pack, entry: ConfigEntry, file: TextFile) -> Iterator[Finding]:
    if entry.kind is Kind.BLOCK:
        return
    words = [part for part in entry.path if part != "[]"]
    for row in pack.settings.get(words[-1] if words else "", ()):
        key = row.name.split(".")
        if words[-len(key) :] != key or (row.values and entry.value not in row.values) or not _is_meant(row, file):
            continue
        at = (min(entry.key_start, entry.start), max(entry.end, entry.key_end))
        what = f"`{row.name}`" if entry.kind is Kind.OPEN else f"`{row.name}: {entry.value}`"
        if row.new is None or entry.kind is Kind.OPEN or not entry.is_exact:
            yield said.about(pack, row, file, at, what)
        else:
            new = row.new.replace("{value}", entry.value)
            yield said.about(pack, row, file, at, what, Edit(entry.start, entry.end, new.encode()), shown=new)


def _is_meant(row: Row, file: TextFile) -> bool:
    """Does the file hold the other keys that make it a file of this library?"""
    known = {part for entry in file.entries for part in entry.path}
    return not row.beside or any(word in known for word in row.beside)
