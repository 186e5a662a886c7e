"""The health of each chip as npu-smi reports it.

The 310B boards report `Alarm` with code 80E3A203 (current sensor) when nothing is wrong (public board dumps).
"""

from __future__ import annotations

from collections import Counter

from jumar.core.finding import Finding
from jumar.machine.check import Check, Report, error, need_npus, note, warning
from jumar.machine.host import Host
from jumar.machine.parse import npu_smi
from jumar.machine.parse.layout import UnknownLayout

CHECK = Check("DR205", "health", "health of each chip")
HARMLESS = "80E3A203"


def run(host: Host) -> Report:
    need_npus(host)
    chips = host.smi().chips
    counts = Counter(chip.health or "not told" for chip in chips)
    told = ", ".join(f"{number} {health}" for health, number in sorted(counts.items()))
    return Report(told, tuple(_finding(host, chip) for chip in chips if chip.health != "OK"))


def _finding(host: Host, chip: npu_smi.Chip) -> Finding:
    code, text = _reason(host, chip)
    why = f", code {code}{f': {text}' if text else ''}" if code else ""
    where = f"NPU {chip.npu} chip {chip.chip} ({chip.name})"
    ask = f"npu-smi info -t health -i {chip.npu} -c {chip.chip}"
    if chip.name.startswith("310B") and HARMLESS in code:
        return note(CHECK, f"{where}: {chip.health}{why}; common on this board, and harmless")
    if chip.health == "Warning":
        return warning(CHECK, f"{where}: Warning{why}", ask, code)
    reset = (
        f"npu-smi set -t reset -i {chip.npu} -c {chip.chip}   # ends what runs on it; a card that stays so is defective"
    )
    return error(CHECK, f"{where}: {chip.health or 'no health reported'}{why}", f"{ask}\n{reset}", code)


def _reason(host: Host, chip: npu_smi.Chip) -> tuple[str, str]:
    ran = host.ask("npu-smi", "info", "-t", "health", "-i", str(chip.npu), "-c", str(chip.chip))
    try:
        found = npu_smi.by_chip(ran.said).get(chip.chip, {})
    except (UnknownLayout, npu_smi.SmiFailed):
        return "", ""
    values = [found.get(name, "NA") for name in ("Error Code", "Error Information")]
    code, text = ("" if value == "NA" else value for value in values)
    return code, text
