"""What the planner reads from a machine: system, chip, and what is already installed.

Files and their keys: /etc/os-release, `version.info` of driver and firmware, `ascend_toolkit_install.info` of CANN.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from jumar.core.compat import dataclass
from jumar.machine.parse import npu_smi, pci
from jumar.machine.parse.layout import UnknownLayout
from jumar.runtime import process
from jumar.tables import cann as releases
from jumar.tables import installation
from jumar.tables.installation import System

DRIVERS = ("usr/local/Ascend", "usr/local/npu")
DEB = {"debian", "ubuntu"}
RPM = {"rhel", "fedora", "centos", "openeuler", "euleros", "kylin", "anolis", "suse"}
TIMEOUT = 10
Ask = Callable[[list[str]], str]


@dataclass(frozen=True, slots=True)
class Host:
    """Facts about one machine; what could not be read is None."""

    arch: str | None = None
    system: System | None = None
    system_name: str | None = None
    glibc: str | None = None
    python: str | None = None
    manager: str | None = None
    """`apt` or `yum`."""
    chip: str | None = None
    family: str | None = None
    pci: str | None = None
    """The PCI id that told the family, where no npu-smi did."""
    driver: str | None = None
    firmware: str | None = None
    cann: str | None = None


def read(root: Path = Path("/"), ask: Ask | None = None, environ: Mapping[str, str] = os.environ) -> Host:
    """The facts of this machine, or of the tree under `root` with `ask` in place of its commands."""
    name, system, manager = _system(root)
    chip = _chip((ask or _ask)(["npu-smi", "info", "-m"]))
    bus = None if chip else _pci(root)
    family = bus[1] if bus else _family(chip)
    here = root == Path("/")
    return Host(
        arch=platform.machine() if here else None,
        system=system,
        system_name=name,
        glibc=(platform.libc_ver()[1] or None) if here else None,
        python=f"{sys.version_info[0]}.{sys.version_info[1]}" if here else None,
        manager=manager,
        chip=chip or family,
        family=family,
        pci=bus[0] if bus else None,
        driver=_driver(root, ask or _ask, chip),
        firmware=_first(root, [f"{place}/firmware/version.info" for place in DRIVERS], "version"),
        cann=_cann(root, environ),
    )


def _system(root: Path) -> tuple[str | None, System | None, str | None]:
    fields = _fields(root / "etc/os-release")
    if "id" not in fields:
        return None, None, None
    name = f"{fields['id']} {fields.get('version_id', '')}".strip()
    pretty = fields.get("pretty_name", name)
    system = installation.find_system(name) or installation.find_system(pretty)
    like = {fields["id"].lower(), *fields.get("id_like", "").lower().split()}
    manager = "yum" if like & RPM else "apt" if like & DEB else None
    return pretty, system, system.manager if system else manager


def _pci(root: Path) -> tuple[str, str] | None:
    """The id and family of the first NPU on the PCI bus: all there is to see before the driver is installed."""
    known = {row.pci: row.name for row in installation.families().values()}
    for device in sorted(root.glob("sys/bus/pci/devices/*/device")):
        number = _text(device).strip().removeprefix("0x")
        if number in known and _text(device.with_name("vendor")).strip() == f"0x{pci.VENDOR}":
            return f"{pci.VENDOR}:{number}", known[number]
    return None


def _chip(table: str) -> str | None:
    """The chip name of `npu-smi info -m`."""
    try:
        rows = npu_smi.mapped(table)
    except (npu_smi.SmiFailed, UnknownLayout):
        return None
    return rows[0].name.removeprefix("Ascend").strip() if rows else None


def _family(chip: str | None) -> str | None:
    """npu-smi prints only `Ascend910` for an A3, and `910B` without a digit for a first-generation 910."""
    if chip is None:
        return None
    if chip == "910":
        return "A3"
    return installation.find_family(chip) or ("950" if chip.startswith("950") else None)


def _driver(root: Path, ask: Ask, chip: str | None) -> str | None:
    """From its version file, or from npu-smi's head line where the driver lies somewhere else."""
    found = _first(root, [f"{place}/driver/version.info" for place in DRIVERS], "version")
    if found or not chip:
        return found
    match = re.search(r"\bVersion:\s*(\d+\.\S+)", ask(["npu-smi", "info"]))
    return match[1] if match else None


def _cann(root: Path, environ: Mapping[str, str]) -> str | None:
    homes = [environ[name].lstrip("/") for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME") if environ.get(name)]
    homes += ["usr/local/Ascend/cann", "usr/local/Ascend/ascend-toolkit/latest"]
    files = [f"{home}/{arch}-linux/ascend_toolkit_install.info" for home in homes for arch in ("aarch64", "x86_64")]
    found = _first(root, files, "version")
    return (releases.find(found) or found) if found else None


def _first(root: Path, files: list[str], key: str) -> str | None:
    return next((value for file in files if (value := _fields(root / file).get(key))), None)


def _fields(path: Path) -> dict[str, str]:
    """`KEY=value` lines with lower-case keys; a missing, unreadable or half-written file has none or fewer."""
    pairs = (line.partition("=") for line in _text(path).splitlines() if "=" in line)
    return {key.strip().lower(): value.strip().strip("\"'") for key, _, value in pairs}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _ask(words: list[str]) -> str:
    try:
        return process.run(words, timeout=TIMEOUT).out
    except (process.NotStarted, process.Late):
        return ""
