"""Memory of the cards that is held by processes which are gone, or by none that npu-smi lists."""

from __future__ import annotations

from jumar.core.finding import Finding
from jumar.core.words import counted
from jumar.machine.check import Check, Report, Skip, limit, need_npus, warning
from jumar.machine.host import Host
from jumar.machine.parse.npu_smi import Chip

CHECK = Check("DR208", "dead-processes", "card memory held by processes that are gone")


def run(host: Host) -> Report:
    need_npus(host)
    info = host.smi()
    if info.processes is None:
        raise Skip("npu-smi lists no processes on this board")
    if host.in_container() and not host.prefix:
        raise Skip("process ids of the host are not visible in a container")
    findings = []
    for item in info.processes:
        if not host.exists(f"/proc/{item.pid}"):
            message = (
                f"NPU {item.npu} chip {item.chip}: process {item.pid} is gone and still holds {item.memory_mib:,} MB"
            )
            findings.append(warning(CHECK, message, _reset(item.npu, item.chip)))
    busy = {(item.npu, item.chip) for item in info.processes}
    findings += [item for chip in info.chips if (chip.npu, chip.chip) not in busy for item in _held(chip)]
    return Report(f"{counted(len(info.processes), 'process', 'processes')} on the cards", tuple(findings))


def _held(chip: Chip) -> list[Finding]:
    memory = chip.memory
    if memory is None or not memory.total or memory.used is None:
        return []
    if memory.used / memory.total <= limit("idle_memory_share"):
        return []
    message = (
        f"NPU {chip.npu} chip {chip.chip}: {memory.used:,} of {memory.total:,} MB are in use, but no process is listed"
    )
    return [
        warning(
            CHECK, message, f"fuser -v /dev/davinci*   # a process in another container?\n{_reset(chip.npu, chip.chip)}"
        )
    ]


def _reset(npu: int, chip: int) -> str:
    return f"npu-smi set -t reset -i {npu} -c {chip}   # once nothing runs on it"
