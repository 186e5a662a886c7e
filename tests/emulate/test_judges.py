"""The judges: the vendor's tests (tools/conformance.py) and PyTorch's operator database (tools/opinfo.py)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import util
from pathlib import Path
from types import ModuleType

import pytest

from program_files import program_text

_TOOLS = Path(__file__).resolve().parents[2] / "tools"

_SUITE = program_text(__file__, "judge_of_a_suite")


def _run(name: str, machine: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(_TOOLS / name), *arguments],
        env={**os.environ, "JUMAR_MACHINE": machine, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,  # the tools have limits of their own; a busy machine has none
    )


def _tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(_TOOLS))
    spec = util.spec_from_file_location("conformance", _TOOLS / "conformance.py")
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "conformance", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_each_case_counts_once_whatever_happens(emulator: None, machine: str, tmp_path: Path) -> None:
    (tmp_path / "test_card.py").write_text(_SUITE, encoding="utf-8")
    out = tmp_path / "out.json"
    done = _run("conformance.py", machine, str(tmp_path), "--jobs", "1", "--timeout", "30", "--json", str(out))
    found = {case["name"].split(".")[-1]: case for case in json.loads(out.read_text(encoding="utf-8"))}
    assert {name: case["state"] for name, case in found.items()} == {
        "test_adds": "passed",
        "test_differs": "failed",
        "test_refused": "failed",
        "test_skipped": "skipped",
        "test_crashes": "failed",
        "test_waits": "failed",
        "test_ends": "passed",
        "test_ends_only_itself": "passed",
    }
    assert found["test_refused"]["cause"] == "refused: aclnnAbs"
    assert found["test_crashes"]["cause"] == "killed by SIGABRT"
    assert found["test_waits"]["cause"] == "ran out of time"
    assert "passed 3 of 7 (42.9 %), failed 2, refused by name 1, out of time 1; skipped by the tests 1" in done.stdout


def test_causes_are_read_from_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = _tool(monkeypatch)
    rules = tool.read_rules(_TOOLS / "conformance.toml")
    cases = {
        "jumar: `aclnnAbsGetWorkspaceSize` is not emulated": "refused: aclnnAbs",
        "NotImplementedError: npu::npu_iou is not implemented by the emulator": "refused: npu::npu_iou",
        "NotImplementedError: npu_iou with `x` is not emulated; more": "refused: npu_iou with `x`",
        "AssertionError: result error": "numbers differ: result error",
        "ModuleNotFoundError: No module named 'torchvision'": "missing package: torchvision",
        "Traceback\n  File x\nValueError: seven": "ValueError: seven",
        "ValueError: six\n\nTo execute this test, run\n  x\nThis message can be suppressed by": "ValueError: six",
    }
    assert {text: tool.find_cause(text, rules) for text in cases} == cases


def test_folder_without_tests_is_an_error(machine: str, tmp_path: Path) -> None:
    done = _run("conformance.py", machine, str(tmp_path))
    assert (done.returncode, done.stderr) == (2, f"error: no tests in `{tmp_path}`\n")


def test_a_sample_of_the_operator_database(emulator: None, machine: str) -> None:
    names = (
        "add,mul,sum,max,sort,matmul,cat,index_select,where,softmax,nn.functional.conv2d,nn.functional.layer_norm,"
        "nn.functional.cross_entropy,cumsum,view_as_complex,fft.rfft"
    )
    done = _run("opinfo.py", machine, "--only", names, "--samples", "3", "--jobs", "2", "--timeout", "900")
    assert done.returncode == 0, done.stdout + done.stderr


def test_unknown_operator_is_an_error(emulator: None, machine: str) -> None:
    done = _run("opinfo.py", machine, "--only", "ad")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "error: not in the database: ad")


@pytest.mark.slow
def test_evidence_on_apis_is_what_happens_again(emulator: None, machine: str) -> None:
    """Rows of each kind in data/api_evidence.json, run anew: one that differs makes `--check` fail."""
    rows = ("torch.nn.MaxPool1d", "torch.func.jvp", "Tensor.lgamma", "torch.linalg.solve", "Tensor.smm", "Tensor.add_")
    done = _run("refresh_api_evidence.py", machine, "--only", ",".join(rows), "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    unknown = _run("refresh_api_evidence.py", machine, "--only", "torch.no_such_function", "--check")
    assert unknown.returncode == 2 and "no such API in the tables: torch.no_such_function" in unknown.stderr
