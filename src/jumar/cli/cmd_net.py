"""`jumar net`: addresses of the cards' own network ports."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Sequence

import click

from jumar.cli import show
from jumar.core.errors import EXIT_OK, UserError


@click.group("net", short_help="Plan, set and check the addresses of the cards")
def command() -> None:
    """Plan, set and check the addresses of the cards' own network ports (hccn_tool)."""


@command.command("plan")
@click.argument("servers", nargs=-1, metavar="[SERVER]...")
@click.option("--cards", type=int, default=8, show_default=True, metavar="N", help="Cards of each server.")
@click.option("--network", default="192.168.100.0/24", show_default=True, metavar="NETWORK",
              help="The first of four networks; the others follow it.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--run", "apply", is_flag=True, help="Set the addresses of this machine.")
def plan(servers: tuple[str, ...], cards: int, network: str, as_json: bool, apply: bool) -> int:
    """Print the hccn_tool commands that give every card of every SERVER an address; of this machine if none is named.

    Card n and card n + 4 are in one network, four networks in all, as the guides for servers with 8 cards do it.
    """
    from dataclasses import asdict

    from jumar.launch.net import plan as plans
    from jumar.report import json

    here = socket.gethostname()
    planned = plans.build(servers or (here,), cards, network)
    if apply:
        mine = [card for card in planned if card.server in (here, here.partition(".")[0])]
        if not mine:
            raise UserError(f"this machine is `{here}`, which is not among the servers", "name it too")
        _apply([words for card in mine for words in card.commands()])
    elif as_json:
        click.echo(json.dump({"cards": [asdict(card) for card in planned]}))
    else:
        for name in servers or (here,):
            click.echo(f"# on {name}")
            for card in planned:
                if card.server == name:
                    click.echo("\n".join(map(shlex.join, card.commands())))
    return EXIT_OK


@command.command("check")
@click.argument("sources", nargs=-1, metavar="[SERVER=FILE]...")
@click.option("--cards", type=int, metavar="N", help="Cards of this machine; all that it has if not given.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def check(sources: tuple[str, ...], cards: int | None, as_json: bool) -> int:
    """Check address, link and reachability of this machine's cards, or look for collisions over many servers.

    FILE is a server's hccn.conf, or what `hccn_tool -i N -ip -g` printed there.
    """
    from jumar.cli.cmd_ranktable import servers
    from jumar.launch.net import check as checks
    from jumar.runtime import tools

    if sources:
        found = checks.servers(servers(sources))
    else:
        tools.require("hccn_tool")
        found = checks.here(range(cards if cards is not None else _count()), _tool)
    return show.checked(found, as_json=as_json)


def _apply(commands: Sequence[tuple[str, ...]]) -> None:
    from jumar.runtime import tools

    tools.require("hccn_tool")
    for words in commands:
        click.echo(shlex.join(words), err=True)
        tools.must(words)


def _tool(words: Sequence[str]) -> tuple[int, str]:
    from jumar.runtime import tools

    done = tools.ask(["hccn_tool", *words])
    return done.code, done.out


def _count() -> int:
    """Cards of this machine: device files, or those of the emulated one."""
    from jumar.runtime import npus, variables

    return len(npus.devices()) or variables.CARDS.read()
