"""The operator package (kernels before CANN 8.5.0, ops since): there, of the toolkit's version, for this chip.

Its files: `opp_kernel/version.info` before 8.5.0, `<arch>-linux/ascend_ops_install.info` since; its binaries are in
opp/built-in/op_impl/ai_core/tbe/kernel/config/<chip> (leideng/CANN-8.1.RC1 and public build scripts, 2026-11-15).
"""

from __future__ import annotations

import re

from jumar.machine.check import Check, Report, error, warning
from jumar.machine.host import Host, Toolkit, Unknown, operators

CHECK = Check("DR402", "operator-package", "operator package: present, the toolkit's version, this chip's")
KERNELS = "opp/built-in/op_impl/ai_core/tbe/kernel/config"


def run(host: Host) -> Report:
    toolkit = host.toolkit()
    try:
        family: str | None = host.family()
    except Unknown:
        family = None
    own = operators(family) if family else None
    fix = f"./{_file_name(own['package'] if own else 'CHIP', toolkit)} --install   # `jumar plan` gives its address"
    try:
        facts = _facts(host, toolkit)
    except Unknown as unknown:
        return Report("unknown", (error(CHECK, f"the operator package's version cannot be read: {unknown}", fix),))
    if facts is None:
        level = error if family else warning
        return Report(
            "missing", (level(CHECK, "no operator package beside the toolkit: operators will not be found", fix),)
        )
    version = facts.get("version") or facts.get("version_dir") or toolkit.version
    findings = []
    if version.lower() != toolkit.version.lower():
        findings.append(error(CHECK, f"the operator package has version {version}, the toolkit {toolkit.version}", fix))
    if not host.probe.paths(f"{toolkit.home}/lib64/libopapi*.so"):
        message = f"missing in {toolkit.home}/lib64: `libopapi.so`, the entry to the operators"
        findings.append(error(CHECK, message, fix))
    chips = _chips(host, toolkit, facts)
    if own and chips and not chips & {own["kernels"], own["package"]}:
        message = (
            f"the operator package is for {', '.join(sorted(chips))}, the chips here are {family} ({own['kernels']})"
        )
        findings.append(error(CHECK, message, fix))
    return Report(f"{version} for {', '.join(sorted(chips)) or 'an unknown chip'}", tuple(findings))


def _facts(host: Host, toolkit: Toolkit) -> dict[str, str] | None:
    places = [*host.probe.paths(f"{toolkit.home}/*/ascend_ops_install.info"), f"{toolkit.home}/opp_kernel/version.info"]
    for place in places:
        if host.exists(place):
            return host.file(place, "version" if place.endswith("install.info") else "Version")
    return None


def _chips(host: Host, toolkit: Toolkit, facts: dict[str, str]) -> set[str]:
    """The kernels' folders, or the chip in the package's name."""
    folders = {path.rpartition("/")[2] for path in host.probe.paths(f"{toolkit.home}/{KERNELS}/ascend*")}
    named = re.fullmatch(r"Ascend-cann-(\w+)-ops", facts.get("package_name", ""))
    return folders or ({named[1]} if named else set())


def _file_name(package: str, toolkit: Toolkit) -> str:
    arch = toolkit.facts.get("arch", "$(uname -m)")
    if _is_new(toolkit.version):
        return f"Ascend-cann-{package}-ops_{toolkit.version}_linux-{arch}.run"
    name = "Atlas-A3-cann-kernels" if package == "A3" else f"Ascend-cann-kernels-{package}"
    return f"{name}_{toolkit.version}_linux-{arch}.run"


def _is_new(version: str) -> bool:
    numbers = re.findall(r"\d+", version)
    return tuple(map(int, numbers[:2])) >= (8, 5)
