"""TLS of the devices' ports: all on or all off, here and on every server of a job (HCCL error EI0016)."""

from __future__ import annotations

from jumar.core.words import counted
from jumar.machine import ports
from jumar.machine.check import Check, Report, error
from jumar.machine.host import Host, Unknown
from jumar.machine.parse import hccn_tool

CHECK = Check("DR303", "tls", "the same TLS setting on every device")


def run(host: Host) -> Report:
    numbers = ports.devices(host)
    answers = ports.ask(host, numbers, "tls", hccn_tool.tls)
    known = {number: answer.enabled for number, answer in answers.items() if isinstance(answer, hccn_tool.Tls)}
    if not known:
        raise Unknown(f"the TLS setting is unknown: {next(iter(answers.values()))}")
    on = [str(number) for number, enabled in known.items() if enabled]
    if not on or len(on) == len(known):
        return Report(
            f"{'on' if on else 'off'} on {counted(len(known), 'device')}; other servers of a job must have the same"
        )
    tool = ports.tool(host)
    fix = f"for i in {' '.join(on)}; do {tool} -i $i -tls -s enable 0; done"
    return Report("mixed", (error(CHECK, f"TLS is on for device {', '.join(on)} and off for the others", fix),))
