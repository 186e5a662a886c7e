"""tools/vllm_tests.py: each case is told once, and a crash or a case without an end does not stop the others."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from program_files import program_text


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "tools"))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return import_module("vllm_tests")


def test_crashes_and_hangs_are_cases_like_others(tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone, out = tmp_path / "clone", tmp_path / "out.jsonl"
    (clone / "tests" / "ut").mkdir(parents=True)
    (clone / "tests" / "e2e").mkdir()
    (clone / "tests" / "ut" / "test_a.py").write_text(program_text(__file__, "vllm_cases"))
    (clone / "tests" / "ut" / "test_b.py").write_text("import no_such_module\n")
    (clone / "tests" / "ut" / "conftest.py").write_text("raise RuntimeError('a mock')\n")
    monkeypatch.setattr(tool, "REGISTERS", "")
    monkeypatch.setattr(tool, "_PYTEST", ("-m", "pytest", "-q"))
    scratch = tmp_path / "scratch"
    tool.copy(clone, scratch)
    names = tool.listed(clone, "tests/ut")
    out.touch()
    options = argparse.Namespace(python=sys.executable, cases=2, limit=2)
    tool.run(names, scratch, out, options)
    found = tool.judge(out, names)
    states = {case.split("::")[-1]: row["state"] for case, row in found["tests/ut/test_a.py"].items()}
    many = [states.pop(name) for name in list(states) if name.startswith("test_many")]
    assert many == ["passed", "passed"]
    assert states == {
        "test_passes": "passed", "test_fails": "failed", "test_skips": "skipped", "test_crashes": "crashed",
        "test_hangs": "failed", "test_stops_the_session": "crashed", "test_comes_last": "passed",
        "test_has_no_start": "failed",
    }  # fmt: skip
    assert [row["state"] for row in found["tests/ut/test_b.py"].values()] == ["failed"]
    why = {case.split("::")[-1]: row["why"] for case, row in found["tests/ut/test_a.py"].items()}
    assert "one is not two" in why["test_fails"] and "code 7" in why["test_crashes"] and "no end" in why["test_hangs"]


def test_failures_of_the_held_half_are_only_counted(tool: Any) -> None:
    names = [f"tests/ut/test_{i}.py" for i in range(20)]
    held = next(name for name in names if tool.half_of(name) == "held")
    tuned = next(name for name in names if tool.half_of(name) == "tuned")
    row = {"state": "failed", "why": "because"}
    found = {name: {f"{name}::test_x": {"case": f"{name}::test_x", **row}} for name in (held, tuned)}
    said = tool.summary(found, shown=True)
    assert f"{tuned}::test_x: because" in said and f"{held}::test_x" not in said
    assert "all: 2 failed" in said
    assert "because" not in tool.summary(found, shown=False)


def test_a_folder_without_tests_is_an_error(
    tool: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["vllm_tests.py", str(tmp_path), "--python", sys.executable])
    assert tool.main() == 2
    assert "has no tests/ut" in capsys.readouterr().err
