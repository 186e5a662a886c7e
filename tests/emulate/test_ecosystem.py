"""tools/ecosystem.py: what it runs, how it judges, what it writes; three stacks are run by night."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.syspath_prepend(str(_ROOT / "tools"))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    module = import_module("ecosystem")
    monkeypatch.setattr(module, "ROWS", tmp_path / "rows.json")
    return module


def test_every_row_names_a_script_and_every_script_has_a_row(tool: Any) -> None:
    scripts = {path.name for path in tool.EXAMPLES.glob("*.py") if not path.name.startswith("tiny")}
    assert {row["script"] for row in tool.stacks()} == scripts


def test_commands_are_those_a_user_types(tool: Any) -> None:
    assert tool.command({}, "a.py") == ["run", "a.py"]
    row = {"cards": 2, "options": ["--cuda"], "arguments": ["--tensor", "2"]}
    assert tool.command(row, "a.py") == ["launch", "--cards", "2", "--cuda", "a.py", "--tensor", "2"]


def test_versions_are_the_pair_and_what_makes_the_stack(tool: Any) -> None:
    python = Path(sys.executable)
    told = tool.versions(python, {"packages": ["pytest", "numpy==0"], "alone": ["peft[torch] @ git+https://x"]})
    assert [word.split()[0] for word in told.split(", ")] == ["torch", "torch_npu", "peft", "numpy"]
    assert "pytest" in tool.versions(python, {"packages": ["pytest"]}) and "+" not in told


def test_losses_of_other_steps_are_never_equal(tool: Any) -> None:
    told = tool.Told("loss", {0: 2.0, 1: 1.0})
    assert tool.furthest(told, told) == 0
    assert tool.furthest(tool.Told("loss", {0: 2.0, 1: 1.001}), told) > tool._CLOSE
    assert tool.furthest(tool.Told("loss", {0: 2.0}), told) == float("inf")
    assert tool.furthest(told._replace(kind="token"), told) == float("inf")


@pytest.mark.parametrize(
    ("kind", "theirs", "state"),
    [("loss", 2.00001, "equal"), ("loss", 2.1, "differs"), ("token", 2.00001, "differs"), ("token", 2.0, "equal")],
)
def test_tokens_must_be_the_same_where_losses_may_be_close(
    tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, theirs: float, state: str
) -> None:
    values = {"npu": 2.0, "cpu": theirs}
    monkeypatch.setattr(tool, "install", lambda *_: tmp_path)
    monkeypatch.setattr(tool, "versions", lambda *_: "")
    monkeypatch.setattr(tool, "losses", lambda _, __, device: (tool.Told(kind, {0: values[device]}), ""))
    found = tool.try_stack({"name": "a", "script": "a.py"}, tmp_path, tmp_path)
    assert (found["state"], found["kind"], found["steps"]) == (state, kind, 1)


def test_half_precision_is_close_within_what_its_row_says(
    tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"npu": 2.0, "cpu": 2.001}
    monkeypatch.setattr(tool, "install", lambda *_: tmp_path)
    monkeypatch.setattr(tool, "versions", lambda *_: "")
    monkeypatch.setattr(tool, "losses", lambda _, __, device: (tool.Told("loss", {0: values[device]}), ""))
    row = {"name": "a", "script": "a.py", "arguments": ["--config", '{"bf16": true}']}
    assert tool.try_stack(row, tmp_path, tmp_path)["state"] == "differs"
    found = tool.try_stack({**row, "close": 1e-3}, tmp_path, tmp_path)
    assert (found["state"], found["close"]) == ("equal", 1e-3)
    assert found["command"] == """jumar run a.py --config '{"bf16": true}'"""
    assert tool.try_stack({**row, "close": 1e-4}, tmp_path, tmp_path)["state"] == "differs"


@pytest.mark.parametrize(
    ("text", "code", "device", "problem"),
    [
        ("step 0 loss 1.5 on npu\n", 0, "npu", ""),
        ("step 0 token 1.5 on npu\n", 0, "npu", ""),
        ("step 0 loss 1.5 on cpu\n", 0, "npu", "no losses on npu"),
        ("[rank 1] RuntimeError: no room in /home/me/x\n", 1, "npu", "RuntimeError: no room in …"),
        ("[rank 1] [rank1]: AttributeError: no such part\n", 1, "npu", "AttributeError: no such part"),
        ("", 3, "cpu", "ended with code 3"),
    ],
)
def test_a_run_is_read_from_its_output(
    tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, code: int, device: str, problem: str
) -> None:
    done = tool.subprocess.CompletedProcess([], code, text, "")
    monkeypatch.setattr(tool.subprocess, "run", lambda *_, **__: done)
    found, said = tool.losses(tmp_path / "bin" / "python", ["run", "a.py"], device)
    assert said == problem and found.by_step == ({} if problem else {0: 1.5})
    assert found.kind == ("token" if "token" in text else "loss")


def test_a_row_takes_the_place_of_the_same_command(tool: Any) -> None:
    row = {"name": "b", "command": "jumar run b.py", "state": "fails"}
    rows = (row, {**row, "name": "a"}, {**row, "state": "equal"})
    assert [tool.write(one) for one in rows] == ["", "", "fails"]
    assert [(one["name"], one["state"]) for one in json.loads(tool.ROWS.read_text())] == [
        ("a", "fails"),
        ("b", "equal"),
    ]


@pytest.mark.parametrize(("before", "now", "code"), [("equal", "fails", 1), ("fails", "fails", 0), ("", "equal", 0)])
def test_losses_that_are_no_longer_equal_fail_the_run(
    tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, now: str, code: int
) -> None:
    found = {"name": "peft", "command": "jumar run peft_lora.py", "state": before, "why": ""}
    tool.write(found)
    monkeypatch.setattr(tool, "try_stack", lambda *_: {**found, "state": now})
    monkeypatch.setattr(sys, "argv", ["ecosystem.py", "peft", "--cache", str(tmp_path), "--wheel", "jumar.whl"])
    assert tool.main() == code


@pytest.mark.slow
@pytest.mark.parametrize("name", ["peft_lora.py", "transformers_trainer.py", "accelerate_fsdp2.py"])
def test_a_stack_gives_the_losses_of_the_cpu(tool: Any, name: str) -> None:
    row = next(row for row in tool.stacks() if row["script"] == name)
    script = str(tool.EXAMPLES / name)
    ours, problem = tool.losses(Path(sys.executable), tool.command(row, script), "npu")
    assert not problem
    theirs, problem = tool.losses(Path(sys.executable), [*tool.command(row, script), "--cpu"], "cpu")
    assert not problem and tool.furthest(ours, theirs) <= tool._CLOSE
