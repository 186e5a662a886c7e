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


@pytest.mark.parametrize("text", ["", "Vers", "Version", "Version=\n", "\x00\x01\x02", "=\n=\n"])
def test_half_written_files_are_no_facts(tmp_path: Path, text: str) -> None:
    for path in ("etc/os-release", "usr/local/Ascend/driver/version.info"):
        _put(tmp_path, path, text)
    read = _read(tmp_path)
    assert (read.driver, read.system) == (None, None)


def test_a_system_that_is_not_in_the_tables(tmp_path: Path) -> None:
    _put(tmp_path, "etc/os-release", 'ID=arch\nPRETTY_NAME="Arch Linux"\n')
    read = _read(tmp_path)
    assert (read.system_name, read.system) == ("Arch Linux", None)


def test_a_command_that_is_missing_or_hangs_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "npu-smi"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(host, "TIMEOUT", 0.2)
    assert host._ask([str(program)]) == ""
    assert host._ask([str(tmp_path / "nothing")]) == ""
