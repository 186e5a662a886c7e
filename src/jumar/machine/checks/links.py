"""The links of the devices' own network ports."""

from __future__ import annotations

from jumar.machine import ports
from jumar.machine.check import Check, Report, error, need_npus, note
from jumar.machine.host import Host, Unknown
from jumar.machine.parse import hccn_tool
from jumar.machine.parse.layout import UnknownLayout

CHECK = Check("DR302", "links", "network links of the devices")


def run(host: Host) -> Report:
    need_npus(host)
    if host.family() == "950":
        return _of_950(host)
    numbers = ports.devices(host)
    answers = ports.ask(host, numbers, "link", hccn_tool.link)
    up = [number for number, answer in answers.items() if answer == "UP"]
    down = [str(number) for number, answer in answers.items() if answer == "DOWN"]
    other = {number: answer for number, answer in answers.items() if answer not in ("UP", "DOWN")}
    findings = []
    if down and not up and not other:
        findings.append(note(CHECK, "all links are down: fine for a single server; several servers need their cables"))
    elif down:
        fix = f"{ports.tool(host)} -i {down[0]} -link_stat -g; {ports.tool(host)} -i {down[0]} -optical -g"
        findings.append(error(CHECK, f"the link is down: device {', '.join(down)}", fix))
    if other:
        number, answer = next(iter(other.items()))
        who = ", ".join(map(str, other))
        findings.append(error(CHECK, f"the link state is unknown: device {who}: {answer}",
                              f"{ports.tool(host)} -i {number} -link -g"))  # fmt: skip
    return Report(f"{len(up)} of {len(numbers)} up", tuple(findings))


def _of_950(host: Host) -> Report:
    """A 950 has several ports; which of them a server wires is not known, so one that is down is only told."""
    tool, total, down = ports.tool(host), 0, []
    for chip in host.smi().chips:
        ran = host.ask(tool, "-g", "-dev_info", "-i", str(chip.npu))
        try:
            found = hccn_tool.ports(ran.said)
        except UnknownLayout as unknown:
            raise Unknown(ran.problem or str(unknown)) from None
        total += len(found)
        down += [f"NPU {chip.npu} port {port.die}/{port.port}" for port in found if port.link != "UP"]
    told = f"{total - len(down)} of {total} ports up"
    return Report(told, (note(CHECK, f"the link is down: {', '.join(down)}"),) if down else ())
