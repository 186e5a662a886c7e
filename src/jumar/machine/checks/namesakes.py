"""Packages that only share a name with the vendor's: `pip install te` and the like bring unrelated programs."""

from __future__ import annotations

from jumar.machine.check import Check, Report, error
from jumar.machine.host import Host
from jumar.tables.load import table

CHECK = Check("DR505", "namesakes", "no unrelated packages under the names of the vendor's")


def run(host: Host) -> Report:
    python = host.python()
    findings = []
    for name, row in table("machine.toml")["namesakes"].items():
        version = python.version_of(name)
        if version is None or (row.get("versions") and version not in row["versions"]):
            continue
        fix = f"{python.executable} -m pip uninstall -y {name}   # {row['real']}"
        findings.append(error(CHECK, f"`{name}` {version} is {row['is']}, not the vendor's package", fix, name))
    return Report("none" if not findings else f"{len(findings)} found", tuple(findings))
