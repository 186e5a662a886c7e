"""What is read from a machine: recorded outputs and version files, whole and broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumar.machine.plan import host

HEAD = "NPU ID                         Chip ID                        Chip Logic ID                  Chip Name\n"


def _read(root: Path, table: str = "") -> host.Host:
    return host.read(root, lambda words: table, {})


@pytest.mark.parametrize(
    ("table", "chip", "family"),
    [
        (HEAD + "0   0   0   Ascend 910B3\n1   0   1   Ascend 910B3\n", "910B3", "A2"),
        ("\t" + HEAD + "\t0   0   0   Ascend 910A\n", "910A", "910"),
        (HEAD + "0   0   0   Ascend 910B\n", "910B", "910"),
        (HEAD + "0   1   -   Mcu\n0   0   0   Ascend910B4\n", "910B4", "A2"),
        ("NPU ID  Chip ID  Chip Logic ID  Chip Phy-ID  Chip Name\n0  0  0  0  Ascend910\n", "910", "A3"),
        ("NPU ID  Slot ID  Chip ID  Chip Phy-ID  Chip Name\n0  0  0  0  Ascend950PR_9599\n", "950PR_9599", "950"),
        ("NPU ID  Slot ID  Chip ID  Chip Phy-ID  Chip Name\n0  0  0  0  xxx\n", "xxx", None),
        ("dcmi module initialize failed. ret is -8005\n", None, None),
        ("", None, None),
    ],
)  # fmt: skip
def test_chips_of_npu_smi(tmp_path: Path, table: str, chip: str | None, family: str | None) -> None:
    read = _read(tmp_path, table)
    assert (read.chip, read.family) == (chip, family)


@pytest.mark.parametrize(
    ("number", "vendor", "family"),
    [("0xd802", "0x19e5", "A2"), ("0xd801", "0x19e5", "910"), ("0xd802", "0x10de", None), ("0xffff", "0x19e5", None)],
)
def test_before_the_driver_the_pci_bus_tells(tmp_path: Path, number: str, vendor: str, family: str | None) -> None:
    _put(tmp_path, "sys/bus/pci/devices/0000:c1:00.0/device", f"{number}\n")
    _put(tmp_path, "sys/bus/pci/devices/0000:c1:00.0/vendor", f"{vendor}\n")
    read = _read(tmp_path)
    assert (read.family, read.chip) == (family, family)
    assert read.pci == (f"19e5:{number[2:]}" if family else None)


def _put(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_version_files(tmp_path: Path) -> None:
    _put(tmp_path, "etc/os-release", 'NAME="openEuler"\nVERSION_ID="22.03"\nID="openEuler"\n')
    _put(tmp_path, "usr/local/npu/driver/version.info", "Version=25.0.rc1.1\nInnerversion=V100R001C21SPC002B220\n")
    _put(tmp_path, "usr/local/Ascend/firmware/version.info", "Version=7.7.0.1.231\n")
    info = "package_name=Ascend-cann-toolkit\nversion=8.1.RC1\n"
    _put(tmp_path, "usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info", info)
    read = _read(tmp_path)
    assert read.system is not None and read.system.name == "openEuler 22.03"
    assert (read.driver, read.firmware, read.cann) == ("25.0.rc1.1", "7.7.0.1.231", "8.1.RC1")


def test_the_driver_of_npu_smi_where_no_file_is(tmp_path: Path) -> None:
    said = {"-m": HEAD + "0   0   0   Ascend 910B3\n", "info": "| npu-smi 25.2.0          Version: 25.2.0          |\n"}
    assert host.read(tmp_path, lambda words: said[words[-1]], {}).driver == "25.2.0"


@pytest.mark.parametrize("text", ["", "Vers", "Version", "Version=\n", "\x00\x01\x02", "=\n=\n"])
def test_half_written_files_are_no_facts(tmp_path: Path, text: str) -> None:
    for path in ("etc/os-release", "usr/local/Ascend/driver/version.info"):
        _put(tmp_path, path, text)
    read = _read(tmp_path)
    assert (read.driver, read.system) == (None, None)


def test_a_system_that_is_not_in_the_tables(tmp_path: Path) -> None:
    _put(tmp_path, "etc/os-release", 'ID=arch\nPRETTY_NAME="Arch Linux"\n')
    read = _read(tmp_path)
    assert (read.system_name, read.system, read.manager) == ("Arch Linux", None, None)


@pytest.mark.parametrize(
    ("release", "name", "manager"),
    [
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.3"\n', None, "yum"),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_ID="21"\n', None, "apt"),
        ('ID="centos"\nVERSION_ID="7"\n', "CentOS 7.6", "yum"),
        ('ID="kylin"\nVERSION_ID="V10"\n', "Kylin V10", "yum"),
        ('ID=ubuntu\nVERSION_ID="20.04"\nPRETTY_NAME="Ubuntu 20.04.6 LTS"\n', "Ubuntu 20.04", "apt"),
    ],
)
def test_systems(tmp_path: Path, release: str, name: str | None, manager: str) -> None:
    _put(tmp_path, "etc/os-release", release)
    read = _read(tmp_path)
    assert (read.system.name if read.system else None, read.manager) == (name, manager)


def test_a_command_that_is_missing_or_hangs_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "npu-smi"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(host, "TIMEOUT", 0.2)
    assert host._ask([str(program)]) == ""
    assert host._ask([str(tmp_path / "nothing")]) == ""
