"""Asks `hccn_tool` about every device's own network port; shared by the checks of addresses, links and TLS."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from jumar.core.compat import zip
from jumar.machine.check import Skip, need_npus
from jumar.machine.host import Host, Unknown
from jumar.machine.parse.layout import UnknownLayout
from jumar.machine.probe import LATE, MISSING

Value = TypeVar("Value")
FAMILIES = ("910", "A2", "A3")
"""Chips with a port of their own that `hccn_tool -i N` asks about; a 950 has other ports and options."""


def devices(host: Host) -> list[int]:
    """The numbers that hccn_tool knows the devices by; skips machines where there is nothing to connect."""
    need_npus(host)
    chips = host.smi().chips
    family = host.family()
    if family == "950":
        raise Skip("a 950 has other ports: `hccn_tool -g -dev_info -i 0` shows them")
    if family not in FAMILIES:
        raise Skip(f"a {family} has no network port")
    if len(chips) < 2:
        raise Skip("one device: nothing to connect")
    return [chip.device if chip.device is not None else chip.npu for chip in chips]


def tool(host: Host) -> str:
    own = f"{host.driver_home()}/tools/hccn_tool"
    return own if host.exists(own) else "hccn_tool"


def ask(host: Host, numbers: list[int], topic: str, read: Callable[[str], Value]) -> dict[int, Value | str]:
    """What `read` makes of each answer; a text instead where the answer cannot be read."""
    with ThreadPoolExecutor(8) as pool:
        return dict(zip(numbers, pool.map(lambda number: _one(host, number, topic, read), numbers), strict=True))


def _one(host: Host, number: int, topic: str, read: Callable[[str], Value]) -> Value | str:
    ran = host.ask(tool(host), "-i", str(number), f"-{topic}", "-g")
    if ran.problem == MISSING:
        raise Unknown("there is no `hccn_tool`: it comes with the driver")
    if ran.problem:
        return f"no answer ({ran.problem})" if ran.problem == LATE else ran.problem
    try:
        return read(ran.said)
    except UnknownLayout as unknown:
        return str(unknown)
