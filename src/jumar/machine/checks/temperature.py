"""How hot the chips are; the bounds are our own (data/machine.toml), below the point where chips slow down."""

from __future__ import annotations

from jumar.machine.check import Check, Report, error, limit, need_npus, warning
from jumar.machine.host import Host

CHECK = Check("DR206", "temperature", "temperature of each chip")


def run(host: Host) -> Report:
    need_npus(host)
    known = [(chip, chip.temp) for chip in host.smi().chips if chip.temp is not None]
    if not known:
        return Report("not reported by this machine")
    hot, stop = limit("temperature_hot"), limit("temperature_stop")
    findings = []
    for chip, temp in known:
        if temp >= hot:
            level = error if temp >= stop else warning
            findings.append(level(CHECK, f"NPU {chip.npu} chip {chip.chip} is at {temp} °C",
                                  "check fans and air flow; jobs slow down or fail when it gets hotter"))  # fmt: skip
    temps = [temp for _, temp in known]
    return Report(f"{min(temps)} to {max(temps)} °C", tuple(findings))
