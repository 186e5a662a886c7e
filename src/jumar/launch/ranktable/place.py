"""Whether a rank table is for this machine and suits a job."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping, Sequence

from jumar.core.errors import UserError
from jumar.core.finding import Level
from jumar.launch.ranktable import check
from jumar.launch.ranktable.table import RankTable, Server

HINT = "`jumar ranktable make` makes one for this machine"


def fit(table: RankTable, path: str, cards: Sequence[int], nodes: int, own: Mapping[int, str]) -> None:
    """Refuse a table that is broken, too small, or of another machine; `own` are the addresses of cards here."""
    errors = [row for row in check.check(table, path) if row.level is Level.ERROR]
    if errors:
        raise UserError(f"rank table `{path}`: {errors[0].message}", f"`jumar ranktable check {path}` lists all errors")
    if len(table.servers) != nodes:
        raise UserError(f"rank table `{path}` names {len(table.servers)} machines, the job has {nodes}", HINT)
    server = next((one for one in table.servers if _is_here(one, own)), None)
    if server is None:
        named = ", ".join(f"`{one.name}`" for one in table.servers)
        raise UserError(f"rank table `{path}` is for another machine: {named}", HINT)
    there = [device.device_id for device in server.devices]
    if sorted(map(int, filter(lambda one: one is not None, there))) != sorted(cards):  # type: ignore[arg-type]
        raise UserError(f"rank table `{path}` names cards {there}, the job uses {list(cards)}", HINT)


def _is_here(server: Server, own: Mapping[int, str]) -> bool:
    """By the addresses of its cards where we know ours, else by its own; a name that is no address may be any."""
    given = {device.device_id: device.address for device in server.devices if device.address}
    if given and own:
        return all(own.get(card) == address for card, address in given.items() if card is not None)
    for name in filter(None, (server.host, server.name)):
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            continue
        if not _is_own(str(address)):
            return False
    return True


def _is_own(address: str) -> bool:
    """Can a socket of this machine have the address?"""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as one:
        try:
            one.bind((address, 0))
        except OSError:
            return False
    return True
