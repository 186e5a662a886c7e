"""tools/arm.py: what it needs, the Arm Python that starts like any other, its page; slow: the C++ tests on aarch64."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_TOOLS = _ROOT / "tools"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(_TOOLS))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))  # `versions` is a common name: it goes with the test
    found = import_module("arm")
    monkeypatch.setattr(found.version_environment, "LIMIT", 60)  # which the tool changes
    return found


def test_missing_programs_are_named_with_their_packages(
    tool: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if "aarch64" in name else f"/usr/bin/{name}")
    assert tool.main(["--check"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: programs for Arm cannot be built or run here\n")
    assert said.endswith("hint: sudo apt install qemu-user-static g++-aarch64-linux-gnu\n")
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert tool.main(["--check"]) == 0


def test_a_missing_build_is_asked_for(
    tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tool.arm_environment, "missing", list)
    assert tool.main(["--build", str(tmp_path)]) == 2
    assert capsys.readouterr().err.endswith(f"no wheel in `{tmp_path}`\n\nhint: make native ARCH=aarch64\n")


def test_a_published_wheel_needs_no_build(
    tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tool.arm_environment, "missing", list)
    monkeypatch.setattr(tool.arm_environment, "root", lambda folder: folder)
    monkeypatch.setattr(tool, "_about", dict)
    seen: list[Path] = []
    monkeypatch.setitem(tool.PARTS, "wheel", lambda machine: seen.append(machine.published) or iter(()))
    places = ["--build", str(tmp_path), "--folder", str(tmp_path)]
    assert tool.main(["--only", "wheel", "--published", "jumar.whl", *places]) == 0
    assert seen == [Path("jumar.whl")]
    with pytest.raises(SystemExit):
        tool.main(["--only", "wheel", *places])
    assert "needs `--published WHEEL`" in capsys.readouterr().err


def test_the_arm_python_gets_its_own_name_and_its_words(
    tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "here"
    root = folder / "root"
    for program in ("usr/bin/python3.11", "bin/uname"):
        (root / program).parent.mkdir(parents=True, exist_ok=True)
        (root / program).touch()
    qemu = tmp_path / "qemu"
    qemu.write_text('#!/bin/sh\nfor word in "$@"; do echo "[$word]"; done\n')
    qemu.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(qemu))
    monkeypatch.setattr(tool.arm_environment, "install", lambda *words: None)
    python = tool.arm_environment.environment(folder, "torch", root, ())
    done = subprocess.run([str(python), "-c", "two words", "*"], capture_output=True, text=True, check=True)
    words = [line[1:-1] for line in done.stdout.splitlines()]
    start = ["-cpu", "neoverse-n1", "-L", str(root), "-0", str(python), f"{root}/usr/bin/python3.11"]
    assert words == [*start, "-c", "two words", "*"]
    assert (python.parents[1] / "pyvenv.cfg").read_text() == f"home = {root}/usr/bin\n"
    # A moved machine is not made anew, and its programs start from the new place.
    moved = folder.rename(tmp_path / "there")
    monkeypatch.setattr(tool.arm_environment, "install", lambda *words: pytest.fail("nothing to install"))
    there = tool.arm_environment.environment(moved, "torch", moved / "root", ())
    assert str(folder) not in there.read_text() and f"'{moved}/root/usr/bin/python3.11'" in there.read_text()


def test_a_machine_with_large_pages_is_a_word_of_qemu(tool: Any, tmp_path: Path) -> None:
    assert tool.arm_environment.command(tmp_path, "a_test", page=tool.PAGE)[3:5] == ["-p", "65536"]


def test_a_failed_check_is_on_the_page_and_in_the_exit_code(
    tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool.arm_environment, "missing", list)
    monkeypatch.setattr(tool.arm_environment, "root", lambda folder: folder)
    (tmp_path / "jumar-1-py3-none-linux_aarch64.whl").touch()
    about = {"qemu": "7.2", "compiler": "12.2", "cpu": "cortex-a76", "python": "3.11", "packages": ["torch==2.7.1"]}
    monkeypatch.setattr(tool, "_about", lambda: about)
    for found in ([("hccl_test", ""), ("guide", "")], [("hccl_test", "ended with code 1"), ("order_test", "")]):
        monkeypatch.setitem(tool.PARTS, "native", lambda machine, found=found: iter(found))
        code = tool.main(["--only", "native", "--folder", str(tmp_path), "--build", str(tmp_path)])
    assert code == 1
    page = import_module("results_arm")
    monkeypatch.setattr(page, "FILE", tmp_path / "result.json")
    (row,) = page.page()["section"][0]["rows"]
    assert row[1:] == [
        "`hccl_test`, `order_test`",
        {"en": "failed: `hccl_test`: ended with code 1", "zh": "失败：`hccl_test`: ended with code 1"},
    ]


def test_the_kept_record_names_only_known_parts_and_checks(tool: Any) -> None:
    record = json.loads(tool.RECORD.read_text(encoding="utf-8"))
    names = [part["name"] for part in record["parts"]]
    assert "torch" in names and names == [name for name in tool.PARTS if name in names]
    assert import_module("results_arm").page()["section"][0]["rows"]


def test_every_check_of_a_pair_has_words_on_the_page(tool: Any) -> None:
    checks = "".join(row[0] for row in import_module("results_versions")._CHECKS)
    assert set(re.findall(r"`(\w+)`", checks)) <= set(import_module("results_arm")._CHECKS)
    assert set(tool.PARTS) == set(import_module("results_arm")._PARTS)


@pytest.mark.slow
def test_the_native_tests_pass_on_aarch64(tool: Any) -> None:
    if lacks := tool.arm_environment.missing():
        pytest.skip(f"apt install {' '.join(lacks)}")
    done = subprocess.run(
        ["make", "arm", "PART=native"], cwd=_ROOT, capture_output=True, text=True, check=False, timeout=3600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "native: hccl_test: passed" in done.stdout and "native: order_test: passed" in done.stdout
