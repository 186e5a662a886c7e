"""Reads what `hccn_tool` prints about a device's own network port.

Source: Ascend/mind-cluster docs/en/faultdiag/user_guide/03_collecting_logs.md, hicann/driver
docs/en/Ascend_950_HCCN_Tool (2026-11-15).
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import NamedTuple

from jumar.machine.parse.layout import UnknownLayout


class Address(NamedTuple):
    address: str
    netmask: str


class Tls(NamedTuple):
    enabled: bool
    preset: bool | None


class Port(NamedTuple):
    """A port of a 950."""

    die: int
    port: int
    gbps: int
    kind: str
    link: str


def address(text: str) -> Address:
    """`-ip -g`, or `-vnic -g` of a 950."""
    found = dict(re.findall(r"^\s*(?:vnic )?(ipaddr|netmask):\s*(\S+)", text, re.M))
    if "ipaddr" not in found:
        raise UnknownLayout(f"`hccn_tool -ip -g`: no `ipaddr` in `{_first(text)}`")
    return Address(_checked(found["ipaddr"]), found.get("netmask", ""))


def link(text: str) -> str:
    """`-link -g`: UP or DOWN."""
    match = re.search(r"^\s*(?:vnic )?link status:\s*(\w+)", text, re.M)
    if match is None:
        raise UnknownLayout(f"`hccn_tool -link -g`: no `link status` in `{_first(text)}`")
    return match[1].upper()


def health(text: str) -> str:
    """`-net_health -g`: the vendor's word, such as Success, Init or Timeout."""
    match = re.search(r"^\s*net health status:\s*(.+?)\s*$", text, re.M)
    if match is None:
        raise UnknownLayout(f"`hccn_tool -net_health -g`: no status in `{_first(text)}`")
    return match[1]


def tls(text: str) -> Tls:
    """`-tls -g`."""
    switch = re.search(r"tls switch\[(\d)\]\(0:disable, 1:enable\)", text)
    if switch is None:
        raise UnknownLayout(f"`hccn_tool -tls -g`: no `tls switch` in `{_first(text)}`")
    preset = re.search(r"tls preconfigured\[(\d)\]", text)
    return Tls(switch[1] == "1", preset[1] == "1" if preset else None)


def versions(text: str) -> dict[str, str]:
    """`-version -g`: driver and firmware of the network part."""
    found = dict(re.findall(r"^\s*(Network (?:Driver|Firmware) Version):\s*(\S+)", text, re.M))
    if not found:
        raise UnknownLayout(f"`hccn_tool -version -g`: no version in `{_first(text)}`")
    return found


def ports(text: str) -> list[Port]:
    """`-g -dev_info -i N` of a 950: its ports; the tables of interfaces and identifiers below are not read."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines() if "|" in line]
    if not rows or rows[0] != _PORT_TITLES:
        raise UnknownLayout(f"`hccn_tool -g -dev_info`: no table of ports in `{_first(text)}`")
    found = []
    for row in rows[1:]:
        if len(row) != len(_PORT_TITLES):
            break
        if not all(cell.isdecimal() for cell in row[:3]):
            raise UnknownLayout(f"`hccn_tool -g -dev_info`: cannot read the port `{' | '.join(row)}`")
        found.append(Port(int(row[0]), int(row[1]), int(row[2]), row[3], row[4].upper()))
    return found


_PORT_TITLES = ["UDie ID", "Port ID", "Speed Ability(Gbps)", "Port Type", "Link Status", "Media Type"]


def conf(text: str) -> dict[int, dict[str, str]]:
    """`/etc/hccn.conf`: settings by device; `address_0=…` is device 0's address."""
    found: dict[int, dict[str, str]] = {}
    for name, device, value in re.findall(r"^\s*([a-z_]+?)_(\d+)\s*=\s*(\S*)\s*$", text, re.M):
        found.setdefault(int(device), {})[name] = value
    if text.strip() and not found:
        raise UnknownLayout(f"`/etc/hccn.conf`: no `address_N=` line in `{_first(text)}`")
    return found


def _checked(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        raise UnknownLayout(f"`hccn_tool`: not an address: `{text}`") from None


def _first(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "an empty answer")[:80]
