"""Files of a plan: names of all eras, and what is wrong with a folder of downloads."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from fake_installers import Machine

from jumar.core.errors import UserError
from jumar.machine.plan import build
from jumar.machine.plan.build import Plan
from jumar.machine.plan.host import Host
from jumar.machine.plan.request import PlanRequest


def _plan(folder: Path | None = None, **asked: str | None) -> Plan:
    asked = {"chip": "910B3", "arch": "x86_64", "framework": "torch==2.6.0", "cann": "8.5.0", **asked}
    made = build.make(PlanRequest(**asked), Host(), build.PlanOptions(packages=folder))  # type: ignore[arg-type]
    assert isinstance(made, Plan)
    return made


def _files(made: Plan) -> dict[str, str]:
    return {package.kind: package.file for package in made.packages}


@pytest.mark.parametrize(
    ("chip", "cann", "kind", "file"),
    [
        ("910A", "5.0.3", "toolkit", "Ascend-cann-toolkit_5.0.3.1_linux-x86_64.zip"),
        ("910A", "6.0.1", "toolkit", "Ascend-cann-toolkit_6.0.1_linux-x86_64.zip"),
        ("910A", "6.0.1", "driver", "Ascend-hdk-910-npu_6.0.0_linux-x86-64.zip"),
        ("910A", "6.3.RC1", "ops", "Ascend-cann-kernels-910_6.3.RC1_linux.run"),
        ("910A", "6.3.RC1", "firmware", "Ascend-hdk-910-npu-firmware_6.3.0.1.241.run"),
        ("910A", "6.3.RC1", "driver", "Ascend-hdk-910-npu-driver_23.0.rc1_linux-x86_64.run"),
        ("310P3", "8.0.RC3", "ops", "Ascend-cann-kernels-310p_8.0.RC3_linux.run"),
        ("910B3", "8.0.0", "ops", "Ascend-cann-kernels-910b_8.0.0_linux-x86_64.run"),
        ("910B3", "8.5.0.alpha002", "ops", "Ascend-cann-kernels-910b_8.5.0.alpha002_linux-x86_64.run"),
        ("910B3", "8.5.0", "ops", "Ascend-cann-910b-ops_8.5.0_linux-x86_64.run"),
        ("A3", "8.1.RC1", "ops", "Atlas-A3-cann-kernels_8.1.RC1_linux-x86_64.run"),
        ("A3", "8.5.0", "ops", "Ascend-cann-A3-ops_8.5.0_linux-x86_64.run"),
        ("A3", "8.5.0", "driver", "Atlas-A3-hdk-npu-driver_25.5.0_linux-x86_64.run"),
        ("950", "9.0.0", "ops", "Ascend-cann-950-ops_9.0.0_linux-x86_64.run"),
        ("950", "9.0.0", "driver", "Ascend-hdk-950-npu-driver_*_linux-x86_64.run"),
    ],
)
def test_names_of_all_eras(chip: str, cann: str, kind: str, file: str) -> None:
    assert _files(_plan(chip=chip, cann=cann, framework="none"))[kind] == file


def test_a_board_brings_its_own_driver() -> None:
    made = _plan(chip="310B4", arch="aarch64", cann="8.0.0", framework="torch==2.1.0")
    assert _files(made) == {
        "toolkit": "Ascend-cann-toolkit_8.0.0_linux-aarch64.run",
        "ops": "Ascend-cann-kernels-310b_8.0.0_linux-aarch64.run",
    }


@pytest.fixture
def downloads(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.installer("driver", "Ascend-hdk-910b-npu-driver_25.5.0_linux-x86_64.run", "25.5.0")
    machine.installer("firmware", "Ascend-hdk-910b-npu-firmware_7.8.0.5.216.run", "7.8.0.5.216")
    machine.installer("toolkit", "Ascend-cann-toolkit_8.5.0_linux-x86_64.run", "8.5.0")
    machine.installer("ops", "Ascend-cann-910b-ops_8.5.0_linux-x86_64.run", "8.5.0")
    machine.installer("nnal", "Ascend-cann-nnal_8.5.0_linux-x86_64.run", "8.5.0")
    return machine


def test_a_complete_folder_has_no_findings(downloads: Machine) -> None:
    made = _plan(downloads.packages)
    assert made.findings == ()
    assert all(package.found is not None for package in made.packages)
    assert [line.split()[-1] for line in downloads.calls("Ascend")] == ["--check"] * 5


def test_a_missing_file_is_named_with_its_address(downloads: Machine) -> None:
    (downloads.packages / "Ascend-cann-nnal_8.5.0_linux-x86_64.run").unlink()
    (finding,) = _plan(downloads.packages).findings
    assert finding.id == "PL101"
    assert finding.message == ("the acceleration library (nnal) is missing: `Ascend-cann-nnal_8.5.0_linux-x86_64.run`")
    assert (finding.fix or "").endswith("CANN%208.5.0/Ascend-cann-nnal_8.5.0_linux-x86_64.run")


@pytest.mark.parametrize(
    ("have", "id_", "words"),
    [
        ("Ascend-cann-toolkit_8.5.0_linux-aarch64.run", "PL102", "for another architecture (aarch64)"),
        ("Ascend-cann-toolkit_8.3.RC1_linux-x86_64.run", "PL103", "of another version"),
        ("Ascend-cann-310p-ops_8.5.0_linux-x86_64.run", "PL103", "of another chip"),
        ("Ascend-cann-kernels-910b_8.3.RC1_linux-x86_64.run", "PL103", "of another"),
    ],
)
def test_the_wrong_package_is_recognised(downloads: Machine, have: str, id_: str, words: str) -> None:
    kind = "toolkit" if "toolkit" in have else "ops"
    right = next(path for path in downloads.packages.iterdir() if (kind == "ops") == ("-ops_" in path.name)
                 and (kind == "toolkit") == ("toolkit" in path.name))  # fmt: skip
    right.rename(right.with_name(have))
    (finding,) = _plan(downloads.packages).findings
    assert finding.id == id_
    assert f"`{have}` is the " in finding.message and words in finding.message


def test_a_damaged_file_is_found_by_its_own_check(downloads: Machine) -> None:
    (downloads.packages / "Ascend-cann-toolkit_8.5.0_linux-x86_64.run.broken").touch()
    (finding,) = _plan(downloads.packages).findings
    assert (finding.id, finding.message) == (
        "PL104",
        "`Ascend-cann-toolkit_8.5.0_linux-x86_64.run` is damaged: its self-check failed: no message",
    )


@pytest.mark.parametrize("content", [b"", b"<html>403</html>", b"#!/bin/sh\nrm -rf precious\n", b"\x7fELF"])
def test_what_is_no_installer_is_never_started(downloads: Machine, content: bytes) -> None:
    path = downloads.packages / "Ascend-cann-toolkit_8.5.0_linux-x86_64.run"
    path.write_bytes(content)
    (finding,) = _plan(downloads.packages).findings
    assert finding.id == "PL104" and "it is not an installer (a makeself archive)" in finding.message
    assert downloads.calls("Ascend-cann-toolkit") == []


def test_old_archives_are_read(tmp_path: Path) -> None:
    good, bad = "Ascend-cann-toolkit_6.0.1_linux-x86_64.zip", "Ascend-hdk-910-npu_6.0.0_linux-x86-64.zip"
    with zipfile.ZipFile(tmp_path / good, "w") as archive:
        archive.writestr("Ascend-cann-toolkit_6.0.1_linux-x86_64.run", "x")
    (tmp_path / bad).write_bytes(b"PK\x03\x04 cut off")
    found = _plan(tmp_path, chip="910A", cann="6.0.1", framework="none").findings
    assert {finding.id for finding in found} == {"PL104"}
    assert all(bad in finding.message for finding in found)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read"):
        _plan(tmp_path / "nowhere")
