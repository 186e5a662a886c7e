"""`jumar ranktable`: make, check and convert rank tables."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import click

from jumar.cli import show
from jumar.core.errors import EXIT_OK, UserError


@click.group("ranktable", short_help="Make, check and convert rank tables")
def command() -> None:
    """Make, check and convert rank tables: which card of which machine is which rank."""


@command.command("make")
@click.argument("sources", nargs=-1, metavar="[SERVER=FILE]...")
@click.option("--hosts", metavar="FILE", help="A server per line: its name, then the addresses of its cards.")
@click.option("--cards", metavar="LIST", help="Only these cards of each server, such as 0-3; all if not given.")
@click.option("--to", "layout", metavar="1.0|1.2|2.0|modelarts", default="1.0", show_default=True, help="The layout.")
@click.option("-o", "--out", metavar="FILE", help="Write it there; printed if not given.")
def make(sources: tuple[str, ...], hosts: str | None, cards: str | None, layout: str, out: str | None) -> int:
    """Make a rank table from each server's hccn.conf, or from what `hccn_tool -i N -ip -g` printed there.

    Without SERVER=FILE it is that of this machine, from /etc/hccn.conf.
    """
    from jumar.launch import cores
    from jumar.launch.ranktable import sources as known
    from jumar.launch.ranktable import write

    if hosts:
        if sources:
            raise UserError("`--hosts` and SERVER=FILE do not go together", "take one of them")
        table = known.hosts(_text(hosts), hosts)
    else:
        try:
            chosen = cores.parse(cards) if cards else None
        except ValueError as error:
            raise UserError(f"`--cards`: `{error}` is not a card", "write them as `0-3,6`") from error
        table = known.table(servers(sources), chosen)
    _put(write.render(table, layout), out)
    return EXIT_OK


@command.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def check(files: tuple[str, ...], as_json: bool) -> int:
    """Tell what is wrong with rank tables: devices twice, addresses missing, ranks not contiguous."""
    from jumar.launch.ranktable import check as checks
    from jumar.launch.ranktable import read

    found = [row for file in files for row in checks.check(read.read(_text(file), file), file)]
    return show.checked(found, as_json=as_json)


@command.command("convert")
@click.argument("file", metavar="FILE")
@click.option("--to", "layout", metavar="1.0|1.2|2.0|modelarts", required=True, help="The layout.")
@click.option("-o", "--out", metavar="FILE", help="Write it there; printed if not given.")
def convert(file: str, layout: str, out: str | None) -> int:
    """Write a rank table in another layout."""
    from jumar.core.finding import Level
    from jumar.launch.ranktable import check as checks
    from jumar.launch.ranktable import read, write

    table = read.read(_text(file), file)
    wrong = [row for row in checks.check(table, file) if row.level is Level.ERROR]
    if wrong:
        raise UserError(
            f"`{file}`: {wrong[0].message}", f"`jumar ranktable check {file}` tells all; put it right first"
        )
    _put(write.render(table, layout), out)
    if layout == "2.0" and table.layout != "2.0":
        click.echo("jumar: ports and planes are not in the older layouts: fill them in for a 950", err=True)
    return EXIT_OK


def servers(sources: tuple[str, ...]) -> dict[str, dict[int, str]]:
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


def _text(file: str) -> str:
    from jumar.launch.ranktable import sources as known

    return sys.stdin.read() if file == "-" else known.text_of(file)


def _put(text: str, out: str | None) -> None:
    from jumar.core import write

    if out is None:
        click.echo(text, nl=False)
    else:
        write.replace(Path(out), text.encode())
        click.echo(f"wrote `{out}`", err=True)
