"""`jumar net`: addresses of the cards' own network ports."""

from __future__ import annotations

import shlex

import click

from jumar.cli import show
from jumar.cli.listed import Listed
from jumar.cli.progress import Waiting
from jumar.core.errors import EXIT_OK


@click.group("net", cls=Listed, short_help="Plan, set and check the addresses of the cards")
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

    from jumar.app import net

    planned = net.plan(servers, cards, network)
    if apply:
        net.apply(planned, lambda words: show.echo(shlex.join(words), err=True))
    elif as_json:
        show.document({"cards": [asdict(card) for card in planned]})
    else:
        for name in dict.fromkeys(card.server for card in planned):
            show.echo(f"# on {name}")
            for card in planned:
                if card.server == name:
                    show.lines(map(shlex.join, card.commands()))
    return EXIT_OK


@command.command("check")
@click.argument("sources", nargs=-1, metavar="[SERVER=FILE]...")
@click.option("--cards", type=int, metavar="N", help="Cards of this machine; default all.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def check(sources: tuple[str, ...], cards: int | None, as_json: bool) -> int:
    """Check address, link and reachability of this machine's cards, or look for collisions over many servers.

    FILE is a server's hccn.conf, or what `hccn_tool -i N -ip -g` printed there.
    """
    from jumar.app import net

    with Waiting("asking the cards"):
        found = net.check(sources, cards)
    return show.checked(found, as_json=as_json)
