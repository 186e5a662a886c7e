"""`jumar ranktable`: make, check and convert rank tables."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.core.finding import Finding

Text = tuple[str, str]
"""A file's name and its text."""


def make(sources: Sequence[str], cards: str | None, layout: str) -> str:
    """A table from each server's `SERVER=FILE`; that of this machine if none is named."""
    from jumar.launch import cores
    from jumar.launch.ranktable import sources as known
    from jumar.launch.ranktable import write

    try:
        chosen = cores.parse(cards) if cards else None
    except ValueError as error:
        raise UserError(f"`--cards`: `{error}` is not a card", "write them as `0-3,6`") from error
    return write.render(known.table(servers(sources), chosen), layout)


def from_hosts(hosts: Text, layout: str) -> str:
    """A table from a file with a server per line: its name, then the addresses of its cards."""
    from jumar.launch.ranktable import sources, write

    name, text = hosts
    return write.render(sources.hosts(text, name), layout)


def check(files: Sequence[Text]) -> list[Finding]:
    """What is wrong with rank tables."""
    from jumar.launch.ranktable import check as checks
    from jumar.launch.ranktable import read

    return [row for name, text in files for row in checks.check(read.read(text, name), name)]


def convert(file: Text, layout: str) -> tuple[str, str]:
    """A table in another layout, and what is missing in it; one with errors is refused."""
    from jumar.core.finding import Level
    from jumar.launch.ranktable import check as checks
    from jumar.launch.ranktable import read, write

    name, text = file
    table = read.read(text, name)
    wrong = [row for row in checks.check(table, name) if row.level is Level.ERROR]
    if wrong:
        told = f"`jumar ranktable check {name}` lists all errors; fix them first"
        raise UserError(f"`{name}`: {wrong[0].message}", told)
    newer = layout == "2.0" and table.layout != "2.0"
    note = "ports and planes are not in the older layouts: fill them in for a 950" if newer else ""
    return write.render(table, layout), note


def text_of(file: str) -> str:
    """The text of a file; a missing one is a user's mistake."""
    from jumar.launch.ranktable import sources

    return sources.text_of(file)


def servers(sources: Sequence[str]) -> dict[str, dict[int, str]]:
    """The addresses of each server's cards, from SERVER=FILE words."""
    from jumar.launch.ranktable import sources as known
    from jumar.runtime import variables

    if not sources:
        prefix = variables.PREFIX.read()
        sources = (f"{socket.gethostname()}={prefix + '/etc/hccn.conf' if prefix else known.CONF}",)
    found: dict[str, dict[int, str]] = {}
    for source in sources:
        name, mark, file = source.partition("=")
        if not mark or not name or not file:
            raise UserError(f"`{source}` is not SERVER=FILE", "write it as `node1=node1.hccn.conf`")
        if name in found:
            raise UserError(f"server `{name}` is named twice", "name each once")
        found[name] = known.addresses(known.text_of(file), file)
    return found
