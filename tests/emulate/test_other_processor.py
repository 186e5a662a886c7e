"""What depends on the processor, asked as an Arm machine asks it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jumar.emulate import ledger, mindspore, pair, prefix
from jumar.emulate.glue import probe
from jumar.tables import versions

_CPUINFO = "processor\t: 0\nFeatures\t: fp asimd{}\nCPU implementer\t: 0x48\nCPU part\t: 0xd01\n\nprocessor\t: 1\n"


@pytest.fixture(autouse=True)
def arm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")


@pytest.mark.parametrize(
    ("dying", "level"), [((), ""), (("",), "ADVANCED_SIMD"), (("", "ADVANCED_SIMD"), "ADVANCED_SIMD")]
)
def test_levels_of_onednn_are_those_of_arm(dying: tuple[str, ...], level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(probe, "_dies", lambda name: asked.append(name) or name in dying)
    assert probe._find_level() == level
    assert not any("AVX" in name for name in asked)


def test_a_processor_without_known_levels_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    monkeypatch.setattr(probe, "_dies", lambda name: True)
    assert probe._find_level() == ""


def test_arm_processors_have_records_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"/proc/cpuinfo": ""}
    monkeypatch.setattr(Path, "read_text", lambda path, **_: files[str(path)])
    monkeypatch.setattr(probe.metadata, "version", lambda name: "2.7.1")
    found = set()
    for more in ("", " sve", " sve bf16"):
        files["/proc/cpuinfo"] = _CPUINFO.format(more)
        found.add(probe._machine())
    monkeypatch.setattr("platform.machine", lambda: "x86_64")  # qemu shows programs the host's /proc/cpuinfo
    assert len(found | {probe._machine()}) == 4


def test_the_virtual_cann_is_for_arm(tmp_path: Path) -> None:
    entries = prefix.build(tmp_path, {"JUMAR_SOC": "Ascend910B3", "JUMAR_CARDS": "1", "JUMAR_CANN": "8.1.RC1"})
    home = "ascend-toolkit/8.1.RC1"
    info = entries[f"{home}/aarch64-linux/ascend_toolkit_install.info"].text
    assert "arch=aarch64\n" in info and f"path={tmp_path}/{home}/aarch64-linux\n" in info
    assert entries[f"{home}/x86_64-linux"].link == "aarch64-linux"


def test_mindspore_on_the_cpu_gets_no_level_of_x86() -> None:
    assert "DNNL_MAX_CPU_ISA" not in mindspore.on_cpu({}, "python3")


def test_the_nearest_pair_has_wheels_for_arm() -> None:
    rows = [row for row in versions.releases() if row.published and row.aarch64 and row.aarch64 != row.python]
    assert rows, "no release has other Python versions on Arm: this test asks for nothing"
    for row in rows:
        for python in set(row.python) - set(row.aarch64):
            found = pair.nearest(row.torch, python)
            assert found is None or python in found.pythons("aarch64")


def test_start_times_are_read_where_qemu_does_not_make_them_up() -> None:
    own = os.getpid()
    real = Path(f"/proc/{own}/task/{own}/stat").read_text().rpartition(")")[2].split()[19]
    assert ledger._start_time(own) == int(real)
