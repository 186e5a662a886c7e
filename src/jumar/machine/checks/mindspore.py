"""MindSpore: its CANN, and the traps of its wheels.

Wheels of 2.7 to 2.10 are compiled against numpy 1 without saying so; the one tagged `none-any` is the aarch64 build
(seen on the public index, 2026-11-15). A convolution took 1910 ms instead of 16 on a CPU with AVX-512 (2.10.0).
"""

from __future__ import annotations

from jumar.core.finding import Finding
from jumar.machine import pairs
from jumar.machine.check import Check, Report, Skip, error, note, warning
from jumar.machine.host import Host, Python, Unknown
from jumar.machine.pairs import Fit
from jumar.tables import tested

CHECK = Check("DR504", "mindspore", "MindSpore fits CANN, numpy and this architecture")
FIX = "jumar plan   # a set that fits"


def run(host: Host) -> Report:
    python = host.python()
    version = python.version_of("mindspore")
    if version is None:
        raise Skip("MindSpore is not installed in this Python")
    findings = [
        *_numpy(python, version),
        *_architecture(python, version),
        *_convolution(host, version),
    ]
    answer = _cann(host, version)
    if answer is None or answer.fit is Fit.FITS:
        return Report(version, tuple(findings))
    if answer.fit is Fit.DOES_NOT:
        return Report(version, (*findings, error(CHECK, answer.why, FIX)))
    return Report(version, tuple(findings), unknown=(warning(CHECK, answer.why, FIX),))


def _numpy(python: Python, version: str) -> list[Finding]:
    numpy = python.version_of("numpy")
    if numpy is None or not numpy.startswith("2."):
        return []
    message = f"MindSpore {version} was compiled against numpy 1, installed is {numpy}: PyNative mode breaks"
    return [error(CHECK, message, f"{python.executable} -m pip install 'numpy{tested.mindspore().numpy}'")]


def _architecture(python: Python, version: str) -> list[Finding]:
    here, there = python.facts.get("machine"), python.facts.get("binaries", {}).get("mindspore")
    if not there or not here or here == there:
        return []
    tags = python.packages["mindspore"].get("tags", "")
    why = " (pip took the wheel tagged `any`, which is really for aarch64)" if "none-any" in tags else ""
    fix = f"jumar plan --framework mindspore=={version}   # the address of the wheel for {here}"
    return [error(CHECK, f"MindSpore {version} is built for {there}, this machine is {here}{why}", fix)]


def _cann(host: Host, version: str) -> pairs.Answer | None:
    try:
        installed = host.toolkit().version
    except Unknown as unknown:
        why = f"which CANN MindSpore {version} finds here is not known: {unknown}"
        return pairs.Answer(Fit.UNKNOWN, why) if host.has_npus() else None
    return pairs.framework_and_cann("MindSpore", version, pairs.mindspore(version), installed)


def _convolution(host: Host, version: str) -> list[Finding]:
    """On the CPU target, oneDNN takes its reference code where it finds AVX-512."""
    if host.environ.get("DNNL_MAX_CPU_ISA") or host.has_npus():
        return []
    if "avx512f" not in (host.probe.read("/proc/cpuinfo").text or ""):
        return []
    message = f"MindSpore {version} computes convolutions on this CPU up to a hundred times slower than necessary"
    return [note(CHECK, message, "export DNNL_MAX_CPU_ISA=AVX2   # `jumar run --on cpu` does it")]
