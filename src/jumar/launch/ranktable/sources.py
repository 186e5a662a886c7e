"""Addresses of cards from what a machine has: hccn.conf, what hccn_tool printed, or a list of hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from jumar.core import read
from jumar.core.errors import UserError
from jumar.launch.ranktable.table import Device, RankTable, Server

CONF = "/etc/hccn.conf"
_ADDRESS = re.compile(r"^\s*address_(\d+)\s*=\s*(\S+)", re.M)
_CALL = re.compile(r"hccn_tool\b.*?-i\s+(\d+)")
_ANSWER = re.compile(r"^\s*ipaddr\s*:\s*(\S+)")


def addresses(text: str, name: str) -> dict[int, str]:
    """Address by device, from hccn.conf or from the output of `hccn_tool -i N -ip -g`."""
    if found := _ADDRESS.findall(text):
        return _once([(int(device), address) for device, address in found], name)
    rows, device = [], 0
    for line in text.splitlines():
        if call := _CALL.search(line):
            device = int(call[1])
        elif answer := _ANSWER.match(line):
            rows.append((device, answer[1]))
            device += 1
    if not rows:
        raise UserError(f"`{name}` holds no address", "it is neither hccn.conf nor output of `hccn_tool -i N -ip -g`")
    return _once(rows, name)


def hosts(text: str, name: str) -> RankTable:
    """A server per line: its name, then the addresses of its cards in order; `#` begins a remark."""
    servers = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) == 1:
            raise UserError(f"`{name}`, line {number}: `{words[0]}` has no addresses",
                            "write `server address address …`, an address for each card")  # fmt: skip
        devices = tuple(Device(place, address) for place, address in enumerate(words[1:]))
        servers.append(Server(words[0], devices))
    if not servers:
        raise UserError(f"`{name}` names no server", "write `server address address …`, a line for each")
    return RankTable("", tuple(servers))


def table(found: Mapping[str, Mapping[int, str]], cards: Sequence[int] | None) -> RankTable:
    """The table of these servers, with these cards of each or all of them."""
    servers = []
    for name, known in found.items():
        wanted = sorted(known) if cards is None else list(cards)
        missing = [card for card in wanted if card not in known]
        if missing:
            raise UserError(f"`{name}`: card {missing[0]} has no address", f"there are cards {sorted(known)}")
        servers.append(Server(name, tuple(Device(card, known[card]) for card in wanted)))
    return RankTable("", tuple(servers))


def text_of(path: str) -> str:
    """The text of a file that a user named."""
    return read.content(path).decode("utf-8", "replace")


def _once(rows: list[tuple[int, str]], name: str) -> dict[int, str]:
    found: dict[int, str] = {}
    for device, address in rows:
        if device in found:
            raise UserError(f"`{name}`: device {device} has two addresses, {found[device]} and {address}")
        found[device] = address
    return found
