"""`jumar migrate --verify` and `jumar run` on the real wheel: what happened, at which line."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.core.finding import Where
from jumar.emulate import verify
from jumar.emulate.glue import record
from jumar.emulate.operators import Operator
from jumar.runtime import prebuilt
from jumar.runtime.refusals import Kind, Refusal
from jumar.tables import pages
from program_files import program_text

Jumar = Callable[..., Any]
_SCRIPT = program_text(__file__, "verified_script")


def _outcome(
    code: int = 0, error: str = "", refused: Refusal | None = None, operators: tuple[Operator, ...] = ()
) -> verify.Outcome:
    return verify.Outcome(code, 1.5, error, ("a.py", 3) if code else None, refused, operators)


def _place(name: str, line: int) -> Where:
    return Where(name, line, 1, line, 1)


@pytest.mark.parametrize(
    ("outcome", "shown"),
    [
        (_outcome(), [("EM105", "the command finished, but no operator ran on a card")]),
        (
            _outcome(operators=(Operator("aten::mm", "float32", "native", 1200, 0, ""),)),
            [("EM101", "the command finished on the emulator in 1.5 s: 1 operator, 1,200 calls")],
        ),
        (_outcome(1, "ValueError: x"), [("EM104", "the command ended with exit code 1: ValueError: x")]),
        (_outcome(-9), [("EM104", "the command ended with exit code -9: no traceback")]),
        (
            _outcome(1, "RuntimeError: 561112", Refusal(Kind.OPERATOR, "aclnnFoo")),
            [("EM103", "`aclnnFoo` is not emulated; the command ended there with exit code 1")],
        ),
        (
            _outcome(1, "NotImplementedError: no", Refusal(Kind.ARGUMENTS, "npu::npu_lstm")),
            [
                (
                    "EM103",
                    "`npu::npu_lstm` is not emulated with these arguments; the command ended there with exit code 1",
                )
            ],
        ),
        (
            _outcome(1, "x", operators=(Operator("aten::foo", "int64", "fallback", 2, 0, ""),)),
            [
                ("EM102", "`aten::foo` (int64) has no NPU kernel and ran on the CPU, 2 times"),
                ("EM104", "the command ended with exit code 1: x"),
            ],
        ),
    ],
)
def test_each_outcome_is_a_finding(outcome: verify.Outcome, shown: list[tuple[str, str]], tmp_path: Path) -> None:
    assert [(item.id, item.message) for item in verify.findings(outcome, tmp_path, _place)] == shown


def test_every_id_has_a_page() -> None:
    known = {id_: page.name for id_, page in pages.pages().items() if id_.startswith("EM")}
    assert known == verify.IDS


def test_last_traceback_names_the_innermost_own_line(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    text = f"""warning
[rank1]: Traceback (most recent call last):
[rank1]:   File "{tmp_path}/a.py", line 7, in <module>
[rank1]:     go()
[rank1]:   File "/usr/lib/python3/torch.py", line 9, in go
[rank1]: RuntimeError: call aclnnFoo failed, error code is 561112
[ERROR] 2026 ERR00100 PTA call acl api failed.
"""
    found = verify.last_traceback(text.splitlines(keepends=True), tmp_path)
    assert found.error == "RuntimeError: call aclnnFoo failed, error code is 561112"
    assert found.site == ("a.py", 7)
    assert found.said.endswith("561112\n[ERROR] 2026 ERR00100 PTA call acl api failed.")
    assert verify.last_traceback(["all is well\n"], tmp_path) == ("", None, "")


def test_the_launchers_own_traceback_does_not_hide_that_of_a_rank(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    text = f"""[rank1]: Traceback (most recent call last):
[rank1]:   File "{tmp_path}/a.py", line 7, in <module>
[rank1]: ValueError: seven
Traceback (most recent call last):
  File "/usr/bin/torchrun", line 9, in go
ChildFailedError:
"""
    found = verify.last_traceback(text.splitlines(keepends=True), tmp_path)
    assert (found.error, found.site) == ("ValueError: seven", ("a.py", 7))


def test_an_error_keeps_the_words_of_the_one_it_was_raised_from(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    text = f"""Traceback (most recent call last):
  File "{tmp_path}/a.py", line 7, in <module>
RuntimeError: call aclnnFoo failed

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "{tmp_path}/a.py", line 9, in <module>
ValueError: training failed
"""
    found = verify.last_traceback(text.splitlines(keepends=True), tmp_path)
    assert (found.error, found.site) == ("ValueError: training failed", ("a.py", 9))
    assert verify.reason([Refusal(Kind.OPERATOR, "aclnnFoo")], found) == Refusal(Kind.OPERATOR, "aclnnFoo")


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("RuntimeError: call aclnnFoo failed", "aclnnFoo"),
        ("RuntimeError: aclnnFooGetWorkspaceSize call failed", "aclnnFoo"),
        ("RuntimeError: call aclnnFooV2 failed", ""),
        ("NotImplementedError: npu_lstm with `flag_seq` is beyond us", "npu::npu_lstm"),
        ("RuntimeError: aclnnFoo after npu_lstm", "aclnnFoo"),
        ("ValueError: seven", ""),
        ("RuntimeError: aten::eig fell back", ""),
        ("", "npu::npu_lstm"),
    ],
)
def test_the_refusal_that_the_error_names_is_the_reason(said: str, name: str) -> None:
    noted = [
        Refusal(Kind.OPERATOR, "aclnnFoo"),
        Refusal(Kind.ARGUMENTS, "npu::npu_lstm"),
        Refusal(Kind.FUNCTION, "halGetDeviceInfo"),
        Refusal(Kind.FALLBACK, "aten::eig"),
    ]
    found = verify.reason(noted, verify.Trace(said, None, said))
    assert (found.name if found else "") == name


@pytest.mark.parametrize("folder", ["torch", "torch_npu", "jumar"])
def test_a_program_in_a_folder_named_like_a_library_is_still_the_users(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = tmp_path / folder / "train.py"
    here: dict[str, Any] = {}
    exec(compile("import sys\nframe = sys._getframe()", str(place), "exec"), here)
    found = record.own_frame(here["frame"])
    assert found is not None and found.f_code.co_filename == str(place)


@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_records_of_several_processes_are_added(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"ops{suffix}"
    record.begin(path)
    record.add(path, [Operator("aten::mm", "float32", "native", 2, 1, "a.py:1")])
    record.add(
        path, [Operator("aten::mm", "float32", "native", 3, 0, "b.py:1"), Operator("aten::z", "", "fallback", 1, 0, "")]
    )
    rows = record.parse(path.read_text(), suffix)
    assert rows == [
        Operator("aten::mm", "float32", "native", 5, 1, "a.py:1"),
        Operator("aten::z", "", "fallback", 1, 0, ""),
    ]


def test_run_is_like_python(emulator: None, machine: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(_SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "jumar", "run", "--cuda", "--cards", "2", "--ops", "ops.csv", "train.py", "7", "--soc"],
        cwd=tmp_path, env={**os.environ, "JUMAR_MACHINE": machine}, input="from stdin\n", capture_output=True,
        text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 7, done.stderr
    assert done.stdout == "npu:0 ['7', '--soc'] from stdin\n"
    assert "jumar: no NPU found, emulating 2 x Ascend910B3 with 65536 MiB each\n" in done.stderr
    with open(tmp_path / "ops.csv", encoding="utf-8") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert rows["aten::_linalg_eigh.eigenvalues"]["how"] == "fallback"
    assert rows["aten::_linalg_eigh.eigenvalues"]["site"].endswith("train.py:7")
    assert rows["aten::sum"]["how"] == "native"
    assert rows["aten::mm"]["site"].endswith("train.py:6")
    assert rows["aten::sum"]["dtypes"] == "float32"


def test_signals_reach_the_program(emulator: None, machine: str) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
    done = subprocess.run(
        [sys.executable, "-m", "jumar", "run", "-c", code], env={**os.environ, "JUMAR_MACHINE": machine}, check=False
    )
    assert done.returncode == -signal.SIGTERM


def test_missing_compiler_ends_with_2(
    emulator: None, jumar: Jumar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jumar.emulate.glue import build

    build.library.cache_clear()
    monkeypatch.setattr(prebuilt, "rows", tuple)
    monkeypatch.setenv("JUMAR_CACHE", str(tmp_path))
    monkeypatch.setenv("CXX", "no-such-compiler")
    done = jumar("run", "-c", "pass")
    assert done.code == 2
    assert "hint: sudo apt install g++" in done.err


def test_migrated_project_is_run(emulator: None, jumar: Jumar, machine: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUMAR_MACHINE", machine)
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "train.py").write_text(_SCRIPT.replace("sys.stdin.readline().strip()", "0"))
    reports = ["--html", "r.html", "--sarif", "r.sarif", "--csv", "csv"]
    done = jumar("migrate", "net", "--json", *reports, "--verify", "--", "python", "train.py", "0")
    assert done.code == 1, done.err
    found = {item["id"]: item for item in json.loads(done.out)["findings"]}
    assert found["EM101"]["message"].startswith("the command finished on the emulator")
    assert found["EM102"]["where"] == {"path": "net/train.py", "line": 7, "col": 1, "end_line": 7, "end_col": 1}
    assert "cuda" in (tmp_path / "net" / "train.py").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["csv", "net", "r.html", "r.sarif"]
    for name in ("r.html", "r.sarif"):
        text = (tmp_path / name).read_text()
        assert "the command finished on the emulator" in text and "has no NPU kernel and ran on the CPU" in text, name
    assert "_linalg_eigh" in (tmp_path / "csv" / "unsupported_api.csv").read_text()
