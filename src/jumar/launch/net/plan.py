"""Which address each card of each server gets, and the hccn_tool commands that set it.

The scheme of the vendor's guides for an Atlas 800 (8 cards in two groups of four): card n and card n + 4 are in one
network, so there are four networks, and servers share them. Commands: hccn_tool of driver 23 to 25; the
950 has another order of options and is refused.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from jumar.core.errors import UserError

GROUP = 4
"""Cards of one group; the same place in another group is in the same network."""
FIRST = "192.168.100.0/24"
USUAL = 101
"""Where the guides begin to count in each network."""


@dataclass(frozen=True)
class Card:
    server: str
    device: int
    address: str
    netmask: str
    detect: str
    """An address that hccn_tool's own network check asks: the same card of the next server; empty for one server."""

    def commands(self) -> tuple[tuple[str, ...], ...]:
        tool = ("hccn_tool", "-i", str(self.device))
        address = (*tool, "-ip", "-s", "address", self.address, "netmask", self.netmask)
        return (address, (*tool, "-netdetect", "-s", "address", self.detect)) if self.detect else (address,)


def build(servers: Sequence[str], cards: int = 8, first: str = FIRST) -> list[Card]:
    """The address of every card, server after server."""
    if not 1 <= cards <= 16:
        raise UserError(f"`--cards`: a server has 1 to 16 cards with ports of their own, not {cards}", "take 8")
    if len(set(servers)) != len(servers):
        raise UserError("a server is named twice", "name each once")
    networks = _networks(first, min(cards, GROUP))
    groups = -(-cards // GROUP)
    needed, room = len(servers) * groups, networks[0].num_addresses - 3
    if needed > room:
        raise UserError(
            f"{len(servers)} servers do not fit into {networks[0]}: it has {room} addresses for cards",
            "take a larger network with `--network`",
        )
    start = USUAL if USUAL + needed < networks[0].num_addresses else 2
    planned = []
    for place, server in enumerate(servers):
        after = (place + 1) % len(servers)
        for card in range(cards):
            network, group = networks[card % GROUP], card // GROUP
            address, other = (network[start + one * groups + group] for one in (place, after))
            detect = str(other) if len(servers) > 1 else ""
            planned.append(Card(server, card, str(address), str(network.netmask), detect))
    return planned


def _networks(first: str, count: int) -> list[ipaddress.IPv4Network]:
    try:
        network = ipaddress.ip_network(first)
    except ValueError as error:
        raise UserError(f"`--network`: {error}", f"write it as `{FIRST}`") from error
    if not isinstance(network, ipaddress.IPv4Network) or network.prefixlen > 29:
        raise UserError(f"`--network`: {network} is not an IPv4 network with room for cards", f"write it as `{FIRST}`")
    found, start = [], int(network.network_address)
    for place in range(count):
        found.append(ipaddress.IPv4Network((start + place * network.num_addresses, network.prefixlen)))
    return found
