"""Firmware and driver must fit: the driver's version file names the firmware it works with.

Rule: firmware within `compatible_version_fw`, and `Compatibility : OK` in `npu-smi info -t board` (public version files
of drivers 24.1 to 25.5, 2026-11-15).
"""

from __future__ import annotations

from jumar.machine import pairs
from jumar.machine.check import Check, Report, error, need_npus, warning
from jumar.machine.host import Host, Unknown
from jumar.machine.pairs import Answer, Fit
from jumar.machine.parse import npu_smi, version_info
from jumar.machine.parse.layout import UnknownLayout

CHECK = Check("DR203", "firmware", "firmware that fits the driver")
FIX = "jumar plan   # the firmware package for this driver: firmware first, then driver, then a restart"


def run(host: Host) -> Report:
    need_npus(host)
    board = _board(host)
    installed, problem = _installed(host)
    firmware = board.get("Firmware Version") or installed
    findings = []
    if problem:
        findings.append(error(CHECK, f"the firmware's version cannot be read: {problem}", FIX))
    elif not firmware or firmware == "NA":
        raise Unknown("neither a file nor npu-smi reports the firmware's version")
    verdict = board.get("Compatibility", "OK")
    if verdict not in ("OK", "NA"):
        findings.append(error(CHECK, f"npu-smi says that driver and firmware {firmware} do not fit: {verdict}", FIX))
    if findings:
        return Report(firmware or "unknown", tuple(findings))
    numbers = dict.fromkeys(item for item in (firmware, installed) if item)
    answers = [(number, answer) for number in numbers if (answer := _answer(host, number)) is not None]
    for number, answer in answers:
        if answer.fit is Fit.DOES_NOT:
            message = f"firmware {number} does not fit driver {host.driver()['Version']}: {answer.why}"
            return Report(str(firmware), (error(CHECK, message, FIX),))
    unknown = [answer for _, answer in answers if answer.fit is Fit.UNKNOWN and board.get("Compatibility") != "OK"]
    return Report(
        str(firmware),
        unknown=tuple(
            warning(CHECK, f"it is not known whether firmware and driver fit: {one.why}", FIX) for one in unknown[:1]
        ),
    )


def _board(host: Host) -> dict[str, str]:
    """Of the first NPU; mostly that is number 0, so it is asked before `npu-smi info` has told."""
    try:
        if host.device_files():
            host.ask("npu-smi", "info", "-t", "board", "-i", "0")
        first = host.smi().chips[0].npu
        return npu_smi.board(host.ask("npu-smi", "info", "-t", "board", "-i", str(first)).said)
    except (Unknown, UnknownLayout, npu_smi.SmiFailed, IndexError):
        return {}


def _installed(host: Host) -> tuple[str, str]:
    """The version in the file, or what is wrong with it; cards that were flashed elsewhere have no file."""
    try:
        return host.firmware()["Version"], ""
    except Unknown as unknown:
        missing = host.probe.read(host.firmware_file()).text is None
        return "", "" if missing else str(unknown)


def _answer(host: Host, firmware: str) -> Answer | None:
    """By the driver's own version file, else by the tables; None where the driver cannot be read."""
    try:
        driver = host.driver()
        windows = version_info.ranges(driver.get("compatible_version_fw", ""))
    except (Unknown, UnknownLayout):
        return None
    if windows:
        return pairs.firmware_within(firmware, driver["Version"], windows)
    return pairs.firmware_and_driver(firmware, driver["Version"])
