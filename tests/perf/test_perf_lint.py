"""`jumar perf lint` on the CPU: one run of a small program, and what is said about it."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from program_files import program_text

PROGRAM = program_text(__file__, "wasteful_training")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], dict[str, Any], Path]:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed: pip install 'jumar[emulator]'")
    folder = tmp_path_factory.mktemp("lint")
    (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "jumar", "perf", "lint", "--cpu", "--soc", "310p3", "--keep", "out", "--json"]
    result = subprocess.run(
        [*command, "--", "python", "train.py"], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert result.returncode == 1, result.stderr
    return result, json.loads(result.stdout), folder


def test_program_runs_as_it_is_and_its_output_is_not_in_the_report(done: Any) -> None:
    result, document, _ = done
    assert "done\n" in result.stderr
    assert "roofline of Ascend310P3" in document["modelled"]
    assert document["ranks"][0]["steps"] == 5


def test_findings_have_their_lines(done: Any) -> None:
    places = {(one["name"], one["where"]) for one in done[1]["advice"]}
    assert ("fusible-operators: swiglu", "train.py:9") in places
    assert ("slow-data-type: float64", "train.py:10") in places
    assert ("host-synchronisation: item", "train.py:16") in places
    assert ("unfused-optimizer: Adam", "train.py:15") in places
    assert ("host-synchronisation: item", "train.py:15") not in places
    assert ("settings: jit_compile", None) in places
    assert ("host-synchronisation: nonzero", "train.py:18") in places, "a boolean index is a nonzero on the card"


def test_operator_with_a_kernel_for_its_out_form_is_no_fallback(done: Any) -> None:
    names = {one["name"] for one in done[1]["advice"] if one["id"] == "PF107"}
    assert "cpu-fallback: aten::digamma" in names
    assert not names & {"cpu-fallback: aten::gelu", "cpu-fallback: aten::argmax"}


def test_folder_says_that_it_is_modelled(done: Any) -> None:
    place = next((done[2] / "out").glob("*_ascend_pt"))
    assert "without an NPU" in (place / "README.txt").read_text()
    metadata = json.loads((place / "profiler_metadata.json").read_text())
    assert metadata["jumar"]["ran_on"] == "CPU" and "modelled" in metadata["jumar"]["modelled"]


def test_vendor_tool_accepts_the_folder(done: Any, tmp_path: Path) -> None:
    if importlib.util.find_spec("msprof_analyze") is None:
        pytest.skip("msprof-analyze is not installed: pip install msprof-analyze")
    place = next((done[2] / "out").glob("*_ascend_pt"))
    tool = str(Path(sys.executable).with_name("msprof-analyze"))
    said = subprocess.run(
        [tool, "compare", "-d", place, "-bp", place, "-o", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert said.returncode == 0, said.stderr
    assert "[ERROR]" not in said.stdout + said.stderr
    assert list(tmp_path.glob("performance_comparison_result_*.xlsx"))
