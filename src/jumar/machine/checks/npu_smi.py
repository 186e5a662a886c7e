"""npu-smi: on the path, answers in time, and prints what can be read.

Return codes: hicann/driver docs/en/Ascend_910B_DCMI_API return-codes (2026-11-15).
"""

from __future__ import annotations

from jumar.core.finding import Finding
from jumar.machine.check import Check, Report, error, need_npus, warning
from jumar.machine.host import Host, Unknown
from jumar.machine.parse import npu_smi
from jumar.machine.parse.layout import UnknownLayout
from jumar.machine.probe import LATE, MISSING, NOT_COLLECTED, UNREACHABLE
from jumar.tables.load import table

CHECK = Check("DR204", "npu-smi", "npu-smi answers, in a known layout")
PLACES = ("/usr/local/bin/npu-smi", "/usr/local/sbin/npu-smi")


def run(host: Host) -> Report:
    need_npus(host)
    ran = host.ask("npu-smi", "info")
    if ran.problem == MISSING:
        return _missing(host)
    if ran.problem == LATE:
        message = f"`npu-smi info` did not answer within {host.patience:.0f} s: a card or the driver hangs"
        return Report("no answer", (error(CHECK, message, "dmesg | tail -50   # then restart the server"),))
    if ran.problem in (NOT_COLLECTED, UNREACHABLE):
        raise Unknown(f"`npu-smi info`: {ran.problem}")
    if ran.problem:
        fix = "ls -l $(command -v npu-smi)"
        return Report("failed", (error(CHECK, f"`npu-smi info` cannot be used: {ran.problem}", fix),))
    try:
        found = npu_smi.info(ran.said)
    except npu_smi.SmiFailed as failed:
        return Report("failed", (_failed(failed),))
    except UnknownLayout as unknown:
        message = f"npu-smi prints an unknown layout, so nothing is read from it: {unknown}"
        return Report("not understood", (error(CHECK, message, "send `npu-smi info` with a bug report"),))
    names = ", ".join(sorted({chip.name for chip in found.chips}))
    findings = [warning(CHECK, text) for text in found.notes]
    if not found.chips:
        findings.append(error(CHECK, "npu-smi lists no NPU", "dmesg | grep -i -e davinci -e ascend"))
    told = f"{found.tool}, {len(found.chips)} x {names}" if names else found.tool
    return Report(told, tuple(findings), tuple(map(_line, found.chips)))


def _line(chip: npu_smi.Chip) -> str:
    memory = chip.memory or npu_smi.Usage(None, None)
    values = {"busy": (chip.busy, "%"), "temperature": (chip.temp, " °C"), "power": (chip.power, " W")}
    known = [f"{name} {value}{unit}" for name, (value, unit) in values.items() if value is not None]
    if memory.total:
        known.append(f"memory {memory.used} of {memory.total} MB")
    return f"NPU {chip.npu} chip {chip.chip} {chip.name} {chip.bus or 'no bus'}: {chip.health}, {', '.join(known)}"


def _missing(host: Host) -> Report:
    place = next((path for path in PLACES if host.exists(path)), None)
    if place:
        fix = f"export PATH={place.rpartition('/')[0]}:$PATH"
        return Report("not on PATH", (error(CHECK, f"`{place}` exists, but is not on PATH", fix),))
    fix = (
        "docker run -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi …"
        if host.in_container()
        else "jumar plan   # npu-smi comes with the driver"
    )
    return Report("missing", (error(CHECK, "`npu-smi` is not installed", fix),))


def _failed(failed: npu_smi.SmiFailed) -> Finding:
    meaning = table("machine.toml")["dcmi"].get(str(failed.code))
    why = f": {meaning}" if meaning else ""
    fix = (
        "fuser -v /dev/davinci* /dev/davinci_manager"
        if failed.code == -8020
        else "ls -l /dev/davinci*; dmesg | tail -50"
    )
    return error(CHECK, f"npu-smi gave up (`{failed.message}`){why}", fix, str(failed.code or ""))
