"""`jumar net`: addresses of the cards' own network ports."""

from __future__ import annotations

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
    from jumar.runtime import tools

    here = socket.gethostname()
    mine = [card for card in planned if card.server in (here, here.partition(".")[0])]
    if not mine:
        raise UserError(f"this machine is `{here}`, which is not among the servers", "name it too")
    tools.require("hccn_tool")
    for card in mine:
        for words in card.commands():
            tell(words)
            tools.must(words)


def check(sources: Sequence[str], cards: int | None) -> list[Finding]:
    """Address, link and reachability of this machine's cards, or collisions over many servers."""
    from jumar.app.ranktable import servers
    from jumar.launch.net import check as checks
    from jumar.runtime import tools

    if sources:
        return list(checks.servers(servers(sources)))
    tools.require("hccn_tool")
    return list(checks.here(range(cards if cards is not None else _count()), _tool))


def _tool(words: Sequence[str]) -> tuple[int, str]:
    from jumar.runtime import tools

    done = tools.ask(["hccn_tool", *words])
    return done.code, done.out


def _count() -> int:
    """Cards of this machine: device files, or those of the emulated one."""
    from jumar.runtime import npus, variables

    return len(npus.devices()) or variables.CARDS.read()
