"""The system under everything: distribution, kernel, architecture, C library.

CANN runs on x86_64 and aarch64; wheels of torch_npu 2.7.1 and newer are manylinux_2_28 (Ascend/pytorch, 2026-11-15).
"""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

from jumar.machine.check import Check, Report, error, warning
from jumar.machine.host import Host, Unknown
from jumar.tables.load import table

CHECK = Check("DR101", "system", "distribution, kernel, architecture and C library")
ARCHITECTURES = ("x86_64", "aarch64")


def run(host: Host) -> Report:
    kernel, machine = _uname(host)
    libc = _glibc(host)
    findings = []
    if machine and machine not in ARCHITECTURES:
        findings.append(error(CHECK, f"CANN has no packages for `{machine}`: only {' and '.join(ARCHITECTURES)}"))
    if libc is None:
        findings.append(warning(CHECK, "no GNU C library found: the wheels of torch_npu need glibc"))
    elif old := _too_old(host, libc):
        findings.append(
            error(CHECK, f"glibc {libc} is too old for torch_npu {old}: its wheels need 2.28",
                  "use Ubuntu 20.04, openEuler 20.03 SP3 or newer, or a container image with one")
        )  # fmt: skip
    told = [_distribution(host), f"kernel {kernel}", machine, f"glibc {libc}" if libc else ""]
    return Report(", ".join(part for part in told if part), tuple(findings))


def _uname(host: Host) -> tuple[str, str]:
    words = host.ask("uname", "-srm").out.split()
    return (words[1], words[-1]) if len(words) >= 3 else ("unknown", "")


def _distribution(host: Host) -> str:
    text = host.probe.read("/etc/os-release").text or ""
    match = re.search(r'^PRETTY_NAME="?([^"\n]+)', text, re.M)
    return match[1] if match else "unknown distribution"


def _glibc(host: Host) -> str | None:
    match = re.search(r"glibc (\d+\.\d+)", host.ask("getconf", "GNU_LIBC_VERSION").out)
    if match:
        return match[1]
    match = re.search(r"(?:GLIBC|GNU libc|GNU C Library)\D*(\d+\.\d+)", host.ask("ldd", "--version").said, re.I)
    return match[1] if match else None


def _too_old(host: Host, libc: str) -> str | None:
    """The installed torch_npu, if it needs a newer C library."""
    try:
        installed = host.python().version_of("torch-npu")
    except Unknown:
        return None
    first = table("machine.toml")["python"]["glibc_2_28_from_torch_npu"]
    try:
        new = installed is not None and Version(installed) >= Version(first)
    except InvalidVersion:
        return None
    return installed if new and Version(libc) < Version("2.28") else None
