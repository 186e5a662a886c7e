"""The CANN toolkit: there, of one version, for this architecture, with the libraries that torch_npu is linked with."""

from __future__ import annotations

from jumar.core.finding import Finding
from jumar.machine.check import Check, Report, Skip, error
from jumar.machine.host import Host, Toolkit, Unknown
from jumar.tables.load import table

CHECK = Check("DR401", "toolkit", "CANN toolkit: complete, one version, right architecture")
INSTALL = "jumar plan   # which toolkit belongs here, and how to install it"


def run(host: Host) -> Report:
    if not host.homes():
        return _missing(host)
    try:
        toolkit = host.toolkit()
    except Unknown as unknown:
        return Report("unknown", (error(CHECK, f"the toolkit's version cannot be read: {unknown}", INSTALL),))
    findings = [*_architecture(host, toolkit), *_libraries(host, toolkit), *_components(host, toolkit)]
    return Report(f"{toolkit.version} in {toolkit.home}", tuple(findings))


def _missing(host: Host) -> Report:
    try:
        wanted = host.python().version_of("torch-npu")
    except Unknown:
        wanted = None
    if not host.has_npus() and wanted is None:
        raise Skip("no CANN, and no NPU that needs it")
    if not host.has_npus():
        raise Skip("no CANN in this machine: `jumar run` starts programs on the emulated one")
    return Report("missing", (error(CHECK, "no CANN toolkit found", INSTALL),))


def _architecture(host: Host, toolkit: Toolkit) -> list[Finding]:
    here, there = host.ask("uname", "-m").out.strip(), toolkit.facts.get("arch", "")
    if not here or not there or here == there:
        return []
    return [error(CHECK, f"the toolkit is for {there}, this machine is {here}", INSTALL)]


def _libraries(host: Host, toolkit: Toolkit) -> list[Finding]:
    present = {path.rpartition("/")[2] for path in host.probe.paths(f"{toolkit.home}/lib64/lib*.so")}
    missing = [name for name in table("machine.toml")["toolkit"]["libraries"] if name not in present]
    if not missing:
        return []
    shown = ", ".join(f"`{name}`" for name in missing)
    fix = "./Ascend-cann-toolkit_*.run --install   # again; the run-time package nnrt alone is not enough"
    return [error(CHECK, f"missing in {toolkit.home}/lib64: {shown}", fix)]


def _components(host: Host, toolkit: Toolkit) -> list[Finding]:
    """Parts of another release: what stays behind when an upgrade breaks off."""
    findings = []
    for part in table("machine.toml")["toolkit"]["components"]:
        path = f"{toolkit.home}/{part}/version.info"
        if not host.exists(path):
            continue
        try:
            facts = host.file(path, "Version")
        except Unknown as unknown:
            findings.append(error(CHECK, f"a part of the toolkit cannot be read: {unknown}", INSTALL))
            continue
        version = facts.get("version_dir", toolkit.version)
        if version.lower() != toolkit.version.lower():
            findings.append(error(CHECK, f"`{part}` has version {version}, the toolkit {toolkit.version}", INSTALL))
    return findings
