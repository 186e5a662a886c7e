"""Looks at the cards' addresses: on this machine through hccn_tool, over many servers from their hccn.conf."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from jumar.core.finding import Finding, Level
from jumar.launch.net.plan import GROUP

DOC = "docs/findings/launch.md"
Tool = Callable[[Sequence[str]], tuple[int, str]]
"""Runs hccn_tool with these words: its exit code and what it printed."""


def here(cards: Sequence[int], tool: Tool) -> list[Finding]:
    """Address, link and reachability of each card of this machine."""
    rows: list[tuple[str, Level, str, str]] = []
    known: dict[int, str] = {}
    for card in cards:
        code, said = tool(["-i", str(card), "-ip", "-g"])
        found = re.search(r"ipaddr\s*:\s*(\S+)", said)
        if code or found is None:
            rows.append(("LN201", Level.ERROR, f"card {card} has no address", "jumar net plan --run"))
        else:
            known[card] = found[1]
        code, said = tool(["-i", str(card), "-link", "-g"])
        state = re.search(r"link status\s*:\s*(\S+)", said)
        if code or state is None or state[1].upper() != "UP":
            told = state[1] if state else "unknown"
            rows.append(
                (
                    "LN202",
                    Level.ERROR,
                    f"card {card}: its link is {told}",
                    "check the cable, the optical module and the switch",
                )
            )
    rows += [*_collisions({"": known}), *_unreachable(known, tool)]
    return _findings(rows)


def servers(found: Mapping[str, Mapping[int, str]]) -> list[Finding]:
    """Collisions and gaps over many servers, from the addresses each of them has."""
    rows = list(_collisions(found))
    most = max((len(cards) for cards in found.values()), default=0)
    for name, cards in found.items():
        if len(cards) < most:
            rows.append(("LN204", Level.WARNING, f"`{name}` has {len(cards)} addresses, others have {most}", ""))
    return _findings(rows)


def _collisions(found: Mapping[str, Mapping[int, str]]) -> Iterator[tuple[str, Level, str, str]]:
    owners: dict[str, str] = {}
    for name, cards in found.items():
        for card, address in cards.items():
            who = f"card {card} of `{name}`" if name else f"card {card}"
            try:
                ipaddress.ip_address(address)
            except ValueError:
                yield "LN205", Level.ERROR, f"{who}: `{address}` is not an address", ""
                continue
            if address in owners:
                yield (
                    "LN203",
                    Level.ERROR,
                    f"{who} and {owners[address]} have the same address {address}",
                    "jumar net plan",
                )
            owners[address] = who


def _unreachable(known: Mapping[int, str], tool: Tool) -> Iterator[tuple[str, Level, str, str]]:
    """Cards of one network must reach each other; those of other networks need a router and are not pinged."""
    for card, address in known.items():
        for other in known:
            if other == card or other % GROUP != card % GROUP:
                continue
            code, said = tool(["-i", str(card), "-ping", "-g", "address", known[other]])
            if code or not re.search(r"\b0(?:\.0+)?%\s*packet loss", said):
                fix = "check the netmask of both, the cable and the switch"
                yield "LN206", Level.ERROR, f"card {card} ({address}) does not reach card {other} ({known[other]})", fix


def _findings(rows: Sequence[tuple[str, Level, str, str]]) -> list[Finding]:
    return [Finding(id=name, level=level, message=text, fix=fix or None, doc=DOC) for name, level, text, fix in rows]
