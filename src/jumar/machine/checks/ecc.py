"""Memory errors: double-bit errors end jobs, isolated pages show that memory is wearing out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from jumar.core.compat import zip
from jumar.core.finding import Finding
from jumar.machine.check import Check, Report, error, need_npus, warning
from jumar.machine.host import Host, Unknown
from jumar.machine.parse import npu_smi
from jumar.machine.parse.layout import UnknownLayout

CHECK = Check("DR207", "ecc", "memory errors counted by each NPU")


def run(host: Host) -> Report:
    need_npus(host)
    with ThreadPoolExecutor(8) as pool:
        # `npu-smi info` is the slowest command of all: meanwhile ask the NPUs that the device files let one expect.
        for npu in range(len(host.device_files())):
            pool.submit(_counts, host, npu)
        try:
            npus = sorted({chip.npu for chip in host.smi().chips})
        except Unknown:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        answers = dict(zip(npus, pool.map(lambda npu: _counts(host, npu), npus), strict=True))
    told = [npu for npu, chips in answers.items() if chips is not None]
    if not told:
        raise Unknown("this board does not count memory errors")
    findings = [item for npu, chips in answers.items() for chip, counts in (chips or {}).items()
                for item in _findings(npu, chip, counts)]  # fmt: skip
    return Report(f"{len(told)} NPUs asked" if findings else f"no errors in {len(told)} NPUs", tuple(findings))


def _counts(host: Host, npu: int) -> dict[int, dict[str, str]] | None:
    ran = host.ask("npu-smi", "info", "-t", "ecc", "-i", str(npu))
    try:
        return npu_smi.by_chip(ran.said) if not ran.problem else None
    except (UnknownLayout, npu_smi.SmiFailed):
        return None


def _findings(npu: int, chip: int, counts: dict[str, str]) -> list[Finding]:
    high = {name: int(value) for name, value in counts.items() if value.isdecimal() and int(value)}
    where = f"NPU {npu} chip {chip}"
    fatal = [f"{name}: {number}" for name, number in high.items() if name.endswith("Double Bit Error Count")]
    worn = [
        f"{name}: {number}"
        for name, number in high.items()
        if "Double Bit" in name and name.endswith(("Err Cnt", "Pages Count"))
    ]
    ask = f"npu-smi info -t ecc -i {npu}"
    if fatal:
        message = f"{where} has uncorrectable memory errors ({', '.join(fatal)})"
        return [
            error(
                CHECK,
                message,
                f"{ask}\nnpu-smi set -t reset -i {npu} -c {chip}   # then watch: if it grows, replace the card",
            )
        ]
    if worn:
        return [warning(CHECK, f"{where} had uncorrectable memory errors before ({', '.join(worn)})", ask)]
    return []
