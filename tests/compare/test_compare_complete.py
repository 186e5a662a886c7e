"""A record that is not whole never says SAME, and a floor with gaps never says DIFFERENT."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small import Net, base, compare, run

from jumar.compare import reader, runs
from jumar.compare.session import Session

Jumar = Callable[..., Any]
PROGRAM = Path(__file__).with_name("ending.py")


@pytest.fixture(autouse=True)
def _no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")


def _change(folder: Path, **facts: object) -> Path:
    for path in folder.glob("rank*/meta.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))
    return folder


def _tanh(net: Net) -> None:
    net.second.approximate = "tanh"


def _record(folder: Path, how: str) -> int:
    options = ["-o", str(folder), "--steps", "3", "--floor", "0"]
    command = [sys.executable, "-m", "jumar", "compare", "record", *options, "--", "python", str(PROGRAM), how]
    return subprocess.run(command, capture_output=True, check=False, timeout=600).returncode


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "rec"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
        assert _record(folder, "finish") == 0
    return folder


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("raise", "the program failed: RuntimeError after 2 steps"),
        ("exit", "the program ended with exit code 7 after 3 steps"),
        ("kill", f"the program was killed by signal {int(signal.SIGKILL)} after 1 step"),
        ("leave", "the program ended with exit code 5"),
    ],
)
def test_a_program_that_failed_is_not_the_same(how: str, words: str, whole: Path, tmp_path: Path, jumar: Jumar) -> None:
    assert _record(tmp_path / "b", how) != 0
    for first, second, side in ((whole, tmp_path / "b", "B"), (tmp_path / "b", whole, "A")):
        done = jumar("compare", first, second)
        assert done.code == 3, done.out
        assert (
            done.out.startswith(f"INCONCLUSIVE: {side} is incomplete: ") and "what to do: record it again" in done.out
        )
    assert words in done.out


def test_a_program_that_ended_well_is_the_same(whole: Path, tmp_path: Path, jumar: Jumar) -> None:
    assert _record(tmp_path / "b", "finish") == 0
    assert jumar("compare", whole, tmp_path / "b").code == 0
    meta = reader.ranks(whole)[0].meta
    assert (meta["ended"], meta["exit_code"], meta["steps"], meta["recorded"], meta["floor_planned"]) == (
        "finished", 0, 3, 3, 0,
    )  # fmt: skip


def test_an_exception_in_a_block_is_an_end(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Session(tmp_path / "b", 2):
        Net()(__import__("torch").ones(2, 16)).sum().backward()
        raise ZeroDivisionError
    assert reader.ranks(tmp_path / "b")[0].meta["ended"] == "failed: ZeroDivisionError"


def test_fewer_steps_cannot_be_the_same(tmp_path: Path) -> None:
    long, short = run(tmp_path / "a", steps=3), run(tmp_path / "b", steps=2)
    verdict = compare(long, short).verdict
    assert verdict.answer == "INCONCLUSIVE" and "A has 3 recorded steps, B 2" in verdict.message
    assert compare(long, run(tmp_path / "c", _tanh, steps=2)).verdict.kind == "arguments"


def test_a_rank_that_is_missing_is_told(tmp_path: Path) -> None:
    a, b = (_change(run(tmp_path / name), world=2) for name in "ab")
    assert "1 of 2 ranks are there" in compare(a, b).verdict.message
    assert compare(a / "rank0", b / "rank0").verdict.kind == "same"


def test_a_floor_with_missing_runs_never_differs(tmp_path: Path) -> None:
    a = _change(base(tmp_path / "a"), floor_planned=3)
    b = run(tmp_path / "b", _tanh)
    assert compare(a, b).verdict.differs
    shutil.rmtree(a / "floor-2")
    verdict = compare(a, b).verdict
    assert verdict.answer == "INCONCLUSIVE" and "2 of 3 noise runs are there; what is there says:" in verdict.message
    _change(a / "floor-3", ended="running")
    assert "1 of 3 noise runs" in compare(a, b).verdict.message


@pytest.mark.slow
def test_noise_runs_come_unasked_where_they_are_cheap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SOON", 1e9)
    said: list[str] = []
    wish = runs.RecordRequest(steps=1, floor=None)
    assert runs.record(["python", str(PROGRAM), "finish"], tmp_path / "a", wish, said.append, quiet=True) == 0
    assert said == [f"noise run {number} of 3" for number in (1, 2, 3)]
    rank = reader.ranks(tmp_path / "a")[0]
    assert rank.meta["floor_planned"] == 3 and len(rank.curve) == 3
    assert [len(reader.ranks(tmp_path / "a" / f"floor-{number}")[0].curve) for number in (1, 2, 3)] == [1, 1, 1]


def test_noise_runs_that_cost_much_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SOON", 0.0)
    monkeypatch.setattr(runs, "SHARE", 0.0)
    said: list[str] = []
    runs.record(
        ["python", str(PROGRAM), "finish"], tmp_path / "a", runs.RecordRequest(floor=None), said.append, quiet=True
    )
    assert len(said) == 1 and "`--floor 1` measures it" in said[0]
    assert not list((tmp_path / "a").glob("floor-*"))


@pytest.mark.slow
def test_noise_runs_that_fail_unasked_take_nothing_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SOON", 1e9)
    said: list[str] = []
    program = ["python", str(PROGRAM), "once", str(tmp_path / "mark")]
    assert runs.record(program, tmp_path / "a", runs.RecordRequest(steps=1, floor=None), said.append, quiet=True) == 0
    assert said[-1] == "no noise floor: the program ended with 9 in a run with noise"
    assert reader.ranks(tmp_path / "a")[0].meta["floor_planned"] == 0
