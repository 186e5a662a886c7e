"""Addresses of the devices' own network ports: set, and set once.

Jobs over several servers, and all jobs on first-generation 910 servers, connect through them.
"""

from __future__ import annotations

from collections import defaultdict

from jumar.machine import ports
from jumar.machine.check import Check, Report, error, warning
from jumar.machine.host import Host
from jumar.machine.parse import hccn_tool
from jumar.machine.parse.layout import UnknownLayout

CHECK = Check("DR301", "device-addresses", "each device has its own address")


def run(host: Host) -> Report:
    numbers = ports.devices(host)
    found = _configured(host, numbers) or _asked(host, numbers)
    findings = []
    missing = [number for number in numbers if number not in found]
    if missing:
        who = ", ".join(map(str, missing))
        fix = (
            f"{ports.tool(host)} -i {missing[0]} -ip -s address 192.168.100.101 netmask 255.255.255.0   # one for each"
        )
        findings.append(warning(CHECK, f"no address: device {who}; jobs over several servers need one", fix))
    owners = defaultdict(list)
    for number, address in found.items():
        owners[address].append(str(number))
    for address, same in owners.items():
        if len(same) > 1:
            fix = f"{ports.tool(host)} -i {same[1]} -ip -s address OTHER netmask 255.255.255.0"
            findings.append(error(CHECK, f"devices {', '.join(same)} have the same address {address}", fix))
    return Report(f"{len(found)} of {len(numbers)} devices have one", tuple(findings))


def _configured(host: Host, numbers: list[int]) -> dict[int, str]:
    """From the file that the driver sets them from; used only when it speaks of every device."""
    text = host.probe.read(host.place("/etc/hccn.conf")).text
    try:
        conf = hccn_tool.conf(text or "")
    except UnknownLayout:
        return {}
    found = {number: conf.get(number, {}).get("address", "") for number in numbers}
    return found if all(found.values()) else {}


def _asked(host: Host, numbers: list[int]) -> dict[int, str]:
    answers = ports.ask(host, numbers, "ip", hccn_tool.address)
    return {number: answer.address for number, answer in answers.items() if isinstance(answer, hccn_tool.Address)}
