"""Rows of a pack in shell text: options of the library's commands."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding
from jumar.migrate.passes.packs import said
from jumar.migrate.passes.packs.rows import Pack, Row
from jumar.migrate.syntax.shell import Command, Word, base_command
from jumar.migrate.textfile import TextFile


def visit_command(pack: Pack, command: Command, file: TextFile) -> Iterator[Finding]:
    first, at = base_command(command)
    words = command.words[at:]
    said_name = " ".join([first, *(word.text for word in words[1:2])])
    rows = [row for row in pack.options if row.command in (first, said_name) or _is_beside(row, command)]
    for position, word in enumerate(words):
        for row in rows:
            if word.text.partition("=")[0] == row.name:
                yield from _option(pack, row, word, words[position + 1] if position + 1 < len(words) else None, file)


def _is_beside(row: Row, command: Command) -> bool:
    """A program of many names, known by another of its words."""
    words = [part for word in command.words for part in (word.text, word.text.rpartition("/")[2])]
    return not row.command and any(word.startswith(row.beside) for word in words)


def _option(pack: Pack, row: Row, word: Word, follows: Word | None, file: TextFile) -> Iterator[Finding]:
    _, equals, value = word.text.partition("=")
    span = (word.start, word.end)
    if not equals and follows is not None and (not follows.text.startswith("-") or follows.is_quoted):
        value, span = follows.text, (word.start, follows.end)
    if row.values and value not in row.values:
        return
    if value == "0":
        return
    what = f"`{row.command} {row.name}`" if row.command else f"`{row.name}`"
    if row.new is None or (not value and "{value}" in row.new) or _is_hidden(row, value):
        yield said.about(pack, row, file, span, what)
        return
    new = row.new.replace("{value}", value)
    yield said.about(pack, row, file, span, what, Edit(*span, new.encode()), shown=new)


def _is_hidden(row: Row, value: str) -> bool:
    """Would single quotes in the new text keep the shell from filling in a variable?"""
    assert row.new is not None
    return "{value}" in row.new and not value.replace(".", "").isdigit()
