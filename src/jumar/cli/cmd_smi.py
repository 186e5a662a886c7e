"""`jumar smi`: the cards of this machine, live, and which of them are free."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from jumar.cli import show
from jumar.cli.listed import Listed
from jumar.cli.options import Number
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK, UserError
from jumar.core.printable import printable

if TYPE_CHECKING:
    from rich.console import Console

_PAST = 40
"""Values in a sparkline."""
_PORT = click.IntRange(0, 65535)


@click.group("smi", cls=Listed, short_help="The NPUs of this machine: use, memory, processes, free cards",
             invoke_without_command=True, options_metavar="[OPTIONS]")  # fmt: skip
@click.option("--once", is_flag=True, help="Print one table and stop; so does output that is not a terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and stop.")
@click.option("--watch", type=Number(0.5), default=2.0, metavar="SECONDS",
              help="Seconds between refreshes; default 2.")  # fmt: skip
@click.option(
    "--serve", type=_PORT, metavar="PORT", help="Serve Prometheus text on 127.0.0.1:PORT; 0 takes a free port."
)
@click.pass_context
def command(ctx: click.Context, once: bool, as_json: bool, watch: float, serve: int | None) -> int:
    """Show cards, use, memory, power, temperature, health, and the processes on them; Ctrl-C ends it.

    It asks `npu-smi`, the real one or the emulated one that `eval "$(jumar emulate env)"` puts on the path.
    """
    if ctx.invoked_subcommand is not None:
        return EXIT_OK
    from jumar.app.smi import view
    from jumar.report import smi

    if serve is not None:
        with suppress(KeyboardInterrupt):
            _serve(serve)
        return EXIT_OK
    if as_json:
        show.document(smi.as_json(view()))
    elif once or not sys.stdout.isatty():
        console = _console()
        console.print(smi.table(view(), width=console.width))
    else:
        with suppress(KeyboardInterrupt):
            _live(watch)
    return EXIT_OK


@command.command("free", short_help="Print numbers of free cards for ASCEND_RT_VISIBLE_DEVICES")
@click.option("--cards", type=click.IntRange(min=1), default=1, metavar="N", help="Number of cards; default 1.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: every card, and why it is not free.")
def free(cards: int, as_json: bool) -> int:
    """Print numbers of free cards, such as `2,3`; exit code 1 if there are not enough.

    ASCEND_RT_VISIBLE_DEVICES=$(jumar smi free --cards 2) python train.py
    """
    from jumar.app import smi

    found = smi.free(cards)
    if as_json:
        show.whole(found.to_json())
    elif found.enough:
        show.echo(",".join(map(str, found.free[:cards])))
    else:
        total = len(found.free) + len(found.reasons)
        show.say(f"only {len(found.free)} of {total} cards are free; {cards} requested", err=True)
        show.told((f"  card {card}: {reason}" for card, reason in found.reasons.items()), err=True)
    return EXIT_OK if found.enough else EXIT_FINDINGS


def _console() -> Console:
    from rich.console import Console

    columns = os.environ.get("COLUMNS", "")
    return Console(width=None if sys.stdout.isatty() or columns.isdecimal() else 160)


def _live(seconds: float) -> None:
    from collections import deque

    from rich.live import Live
    from rich.markup import escape

    from jumar.app.smi import view
    from jumar.report import smi

    past: dict[int, deque[float]] = {}
    first = view()
    console = _console()
    with Live(smi.table(first, past, console.width), console=console, auto_refresh=False, screen=True) as live:
        while True:
            try:
                now = view()
            except UserError as error:
                live.update(escape(printable(f"error: {error.message}")), refresh=True)
            else:
                for card in now.cards:
                    past.setdefault(card.number, deque(maxlen=_PAST)).append(card.busy or 0)
                live.update(smi.table(now, past, console.width), refresh=True)
            time.sleep(seconds)


def _serve(port: int) -> None:
    from jumar.app import smi

    with smi.server(port) as server:
        address = "http://{}:{}/metrics".format(*server.server_address)
        show.say(f"jumar: serving {address} until Ctrl-C", err=True)
        server.serve_forever(poll_interval=0.2)
