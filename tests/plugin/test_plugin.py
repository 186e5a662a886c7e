"""`pytest --npu` as a project calls it: a process of its own, in a folder without our settings."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from jumar.core.compat import entry_points
from jumar.report import suite as report
from program_files import program_file

ON_CARDS = {
    "test_uses_a_card": "passed",
    "test_uses_no_card": "passed",
    "test_falls_back": "passed",
    "test_may_fall_back": "passed",
    "test_falls_back_and_is_expected_to_fail": "skipped",
    "test_needs_three_cards": "skipped",
    "test_memory_is_limited": "passed",
    "test_memory_is_whole_again": "passed",
    "test_adds_up_over_ranks[5]": "passed",
    "test_fails_in_one_rank": "failed",
    "test_method": "failed",
}
FALLBACK = "aten::_linalg_eigvals"
needs_torch_npu = pytest.mark.skipif(importlib.util.find_spec("torch_npu") is None, reason="torch_npu is not installed")
pytestmark = pytest.mark.skipif(not entry_points("pytest11"), reason="the plugin is not installed")


class Ran(NamedTuple):
    code: int
    out: str
    outcomes: dict[str, str]
    folder: Path


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Copy a program as a test file and run pytest on it."""

    def call(program: str, *words: str, **values: str) -> Ran:
        shutil.copy(program_file(__file__, program), tmp_path / f"test_{program}.py")
        (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
        ours = ("JUMAR_", "ASCEND", "LD_LIBRARY_PATH", "TASK_QUEUE", "PYTEST", "TORCH_DEVICE", "PYTHON")
        environ = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        argv = [sys.executable, "-m", "pytest", "-p", "no:randomly", "--junitxml=junit.xml", *words]
        environ.update({"JUMAR_MACHINE": tmp_path.name, "COLUMNS": "200", **values})
        done = subprocess.run(argv, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=600)
        return Ran(done.returncode, done.stdout + done.stderr, _outcomes(tmp_path / "junit.xml"), tmp_path)

    return call


def _outcomes(path: Path) -> dict[str, str]:
    found = {}
    for case in ElementTree.parse(path).iter("testcase") if path.exists() else ():
        kinds = {part.tag for part in case} & {"failure", "error", "skipped"}
        found[case.get("name", "")] = "skipped" if kinds == {"skipped"} else "failed" if kinds else "passed"
    return found


def test_marks_skip_without_npus_and_nothing_is_loaded(run: Run) -> None:
    ran = run("suite_of_marks", "-rs")
    assert ran.outcomes == {"test_marked": "skipped", "test_distributed": "skipped", "test_with_cards": "skipped",
                            "test_plain": "passed"}  # fmt: skip
    assert "needs an NPU: `pytest --npu` emulates one" in ran.out


def test_distributed_tests_are_npu_tests(run: Run) -> None:
    assert set(run("suite_of_marks", "-m", "npu").outcomes) == {"test_marked", "test_distributed"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--npu=910B9"], "910B9"),
        (["--npu=910B3:x"], "`--npu=910B3:x` is not a chip and a number of cards\nhint: write `--npu`"),
        (["--npu=910B3:99"], "`99` is not a number of cards"),
        (["--npu", "--npu-fail-on", "warnings"], "`--npu-fail-on`: unknown word: `warnings`"),
        (["--npu", "--npu-memory", "much"], "`much` is not a memory size"),
        (["--npu-report", "a.json"], "`--npu-report`, `--npu-fail-on` and `--npu-memory` need `--npu`"),
        (["--npu", "--npu-report", "pytest.ini/a.json"], "cannot make the folder `pytest.ini`"),
    ],
)
def test_mistakes_have_one_message(run: Run, words: list[str], message: str) -> None:
    ran = run("suite_of_marks", *words)
    assert ran.code == pytest.ExitCode.USAGE_ERROR
    assert message in ran.out and "Traceback" not in ran.out


@needs_torch_npu
def test_a_suite_on_emulated_cards(run: Run) -> None:
    ran = run("suite_on_cards", "--npu=910B3:2", "--npu-report=out/report.json")
    assert ran.outcomes == ON_CARDS and ran.code == 1
    assert "jumar: no NPU found, emulating 2 x Ascend910B3 with 65536 MiB each" in ran.out
    assert "rank 1 of 2:" in ran.out and "of this rank" in ran.out and "rank 0 of 2:" not in ran.out
    assert "`npu_distributed` is for functions, not for methods of `unittest.TestCase`" in ran.out
    written = json.loads((ran.folder / "out" / "report.json").read_text())
    file = "test_suite_on_cards.py"
    assert written["tests"]["outcomes"] == {"passed": 7, "failed": 2, "skipped": 2}
    cards = {name.partition("::")[2] for name in written["tests"]["on_card"]}
    assert {"test_uses_a_card", "test_memory_is_whole_again", "test_adds_up_over_ranks[5]"} <= cards
    assert not cards & {"test_uses_no_card", "test_needs_three_cards"}
    rows = [row for row in written["refusals"] if row["name"] == FALLBACK]
    tests = ["test_falls_back", "test_may_fall_back", "test_falls_back_and_is_expected_to_fail"]
    assert rows == [{"kind": "fallback", "name": FALLBACK,
                     "tests": [f"{file}::{name}" for name in [*tests, "test_adds_up_over_ranks[5]"]]}]  # fmt: skip
    assert f"{FALLBACK} ran on the CPU: {file}::test_falls_back, " in ran.out and " and 1 more" in ran.out
    assert _fields(written) <= set(report.FIELDS)


def _fields(value: object, name: str = "") -> set[str]:
    if isinstance(value, dict) and name != "tests.outcomes":
        return set().union(*(_fields(part, f"{name}.{key}".lstrip(".")) for key, part in value.items()))
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return set().union(*(_fields(part, f"{name}[]") for part in value))
    return {name}


@pytest.mark.slow
@needs_torch_npu
def test_fallbacks_fail_in_workers_of_xdist_too(run: Run) -> None:
    words = ["-n2", "--npu=910B3:2", "--npu-fail-on=fallback", "--npu-report=report.json", "-k", "fall or uses"]
    ran = run("suite_on_cards", *words)
    failed = {name for name, outcome in ran.outcomes.items() if outcome == "failed"}
    assert failed == {"test_falls_back"}
    assert f"{FALLBACK} ran on the CPU: it has no NPU kernel (`--npu-fail-on`)" in ran.out
    written = json.loads((ran.folder / "report.json").read_text())
    assert len(written["refusals"][0]["tests"]) == 3


@needs_torch_npu
def test_pytest_starts_anew_where_torch_came_first(run: Run) -> None:
    values = {"PYTHONPATH": str(program_file(__file__, "early_torch").parent), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    ran = run("suite_after_torch", "-p", "early_torch", "--npu", "test_suite_after_torch.py", **values)
    assert ran.outcomes == {"test_card": "passed"}, ran.out
