"""`jumar ranktable`: make, check and convert rank tables."""

from __future__ import annotations

from pathlib import Path

import click

from jumar.cli import show, streams
from jumar.cli.listed import Listed
from jumar.core.errors import EXIT_OK, UserError


@click.group("ranktable", cls=Listed, short_help="Make, check and convert rank tables")
def command() -> None:
    """Make, check and convert rank tables: which card of which machine is which rank."""


@command.command("make")
@click.argument("sources", nargs=-1, metavar="[SERVER=FILE]...")
@click.option("--hosts", metavar="FILE", help="A server per line: its name, then the addresses of its cards.")
@click.option("--cards", metavar="LIST", help="Only these cards of each server, such as 0-3; default all.")
@click.option("--to", "layout", metavar="1.0|1.2|2.0|modelarts", default="1.0", show_default=True, help="The layout.")
@click.option("-o", "--out", metavar="FILE", help="File to write; default: print it.")
def make(sources: tuple[str, ...], hosts: str | None, cards: str | None, layout: str, out: str | None) -> int:
    """Make a rank table from each server's hccn.conf, or from what `hccn_tool -i N -ip -g` printed there.

    Without SERVER=FILE it is that of this machine, from /etc/hccn.conf.
    """
    from jumar.app import ranktable

    if hosts and sources:
        raise UserError("`--hosts` excludes SERVER=FILE", "take one of them")
    _put(ranktable.from_hosts(_text(hosts), layout) if hosts else ranktable.make(sources, cards, layout), out)
    return EXIT_OK


@command.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def check(files: tuple[str, ...], as_json: bool) -> int:
    """Report errors in rank tables: duplicate devices, missing addresses, ranks that are not contiguous."""
    from jumar.app import ranktable

    return show.checked(ranktable.check([_text(file) for file in files]), as_json=as_json)


@command.command("convert")
@click.argument("file", metavar="FILE")
@click.option("--to", "layout", metavar="1.0|1.2|2.0|modelarts", required=True, help="The layout.")
@click.option("-o", "--out", metavar="FILE", help="File to write; default: print it.")
def convert(file: str, layout: str, out: str | None) -> int:
    """Write a rank table in another layout."""
    from jumar.app import ranktable

    text, note = ranktable.convert(_text(file), layout)
    _put(text, out)
    if note:
        show.say(f"jumar: {note}", err=True)
    return EXIT_OK


def _text(file: str) -> tuple[str, str]:
    from jumar.app import ranktable

    return file, streams.given().read().decode(errors="replace") if file == "-" else ranktable.text_of(file)


def _put(text: str, out: str | None) -> None:
    from jumar.core import write

    if out is None:
        show.echo(text, nl=False)
    else:
        write.replace(Path(out), text.encode())
        show.say(f"wrote `{out}`", err=True)
