"""`jumar net`: addresses of the cards' own network ports."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.core.finding import Finding
    from jumar.launch.net.plan import Card


def plan(servers: Sequence[str], cards: int, network: str) -> list[Card]:
    """An address for every card of every server; of this machine if none is named."""
    from jumar.launch.net import plan as plans

    return list(plans.build(tuple(servers) or (socket.gethostname(),), cards, network))


def apply(planned: Sequence[Card], tell: Callable[[Sequence[str]], None]) -> None:
    """Set the addresses of this machine; `tell` gets the words of each command before it runs."""
    from jumar.launch import proc

    here = socket.gethostname()
    mine = [card for card in planned if card.server in (here, here.partition(".")[0])]
    if not mine:
        raise UserError(f"this machine is `{here}`, which is not among the servers", "name it too")
    proc.require("hccn_tool")
    for card in mine:
        for words in card.commands():
            tell(words)
            proc.must(words)


def check(sources: Sequence[str], cards: int | None) -> list[Finding]:
    """Address, link and reachability of this machine's cards, or collisions over many servers."""
    from jumar.app.ranktable import servers
    from jumar.launch import proc
    from jumar.launch.net import check as checks

    if sources:
        return list(checks.servers(servers(sources)))
    proc.require("hccn_tool")
    return list(checks.here(range(cards if cards is not None else _count()), _tool))


def _tool(words: Sequence[str]) -> tuple[int, str]:
    from jumar.launch import proc

    done = proc.run(["hccn_tool", *words])
    return done.returncode, done.stdout


def _count() -> int:
    """Cards of this machine: device files, or those of the emulated one."""
    from jumar.emulate import command as commands

    real = len(commands.devices())
    told = os.environ.get("JUMAR_CARDS", "")
    return real or (int(told) if told.isdecimal() else 8)
