"""`jumar run` builds a command that can be printed, and says clearly what is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.core.errors import UserError
from jumar.emulate import command
from jumar.emulate.command import RunRequest
from jumar.runtime import npus
from jumar.tables import tested

Jumar = Callable[..., Any]


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("JUMAR_EMULATE", "JUMAR_SOC", "JUMAR_CARDS", "JUMAR_MEMORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(npus, "DRIVERS", (str(tmp_path / "no-driver"),))
    monkeypatch.setattr(command, "_check_packages", lambda: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print(1)\n")


@pytest.mark.parametrize(
    ("words", "argv"),
    [
        (["train.py", "--cards", "3"], [sys.executable, "train.py", "--cards", "3"]),
        (["-m", "torch.distributed.run", "-h"], [sys.executable, "-m", "torch.distributed.run", "-h"]),
        (["-mtimeit"], [sys.executable, "-mtimeit"]),
        (["-c", "print(1)", "-x"], [sys.executable, "-c", "print(1)", "-x"]),
        (["-u", "-W", "error", "train.py"], [sys.executable, "-u", "-W", "error", "train.py"]),
        (["-"], [sys.executable, "-"]),
    ],
)
def test_words_are_those_of_python(words: list[str], argv: list[str]) -> None:
    assert list(command.build(words, RunRequest(), {}).argv) == argv


def test_program_of_this_interpreter_is_found() -> None:
    argv = command.build(["python", "train.py"], RunRequest(), {}).argv
    assert os.path.dirname(argv[0]) == os.path.dirname(sys.executable)


def test_an_interpreter_given_by_its_path_is_started_itself(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    assert command.argv_of([sys.executable, "train.py"], tmp_path) == (sys.executable, "train.py")


def test_a_script_of_another_language_starts_itself(tmp_path: Path) -> None:
    """Such as pyenv's `python`."""
    for name, first, mode, starts_itself in (
        ("shim", "#!/usr/bin/env bash", 0o755, True), ("train.sh", "#!/bin/sh", 0o644, False),
        ("tool", "#!/usr/bin/env python3", 0o755, False),
    ):  # fmt: skip
        (tmp_path / name).write_text(f"{first}\n")
        (tmp_path / name).chmod(mode)
        own = (f"./{name}", "a.py") if starts_itself else (sys.executable, name, "a.py")
        assert command.argv_of([name, "a.py"], tmp_path) == own


def test_emulates_and_says_so() -> None:
    built = command.build(["train.py"], RunRequest(soc="310p3", cards=2, memory="4G"), {})
    assert built.where == "jumar: no NPU found, emulating 2 x Ascend310P3 with 4096 MiB each"
    assert built.variables["JUMAR_SOC"] == "Ascend310P3"
    assert built.variables["JUMAR_EMULATE"] == "1"


def test_real_npus_are_used_where_driver_and_devices_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npus, "DRIVERS", ("/dev",))
    monkeypatch.setattr(npus.glob, "glob", lambda pattern: ["/dev/davinci0", "/dev/davinci1"])
    built = command.build(["train.py"], RunRequest(cuda=True), {})
    assert built.where == "jumar: using 2 real NPUs"
    assert built.variables == {"JUMAR_EMULATE": "0", "JUMAR_CUDA": "1"}
    asked = command.build(["train.py"], RunRequest(), {"JUMAR_EMULATE": "1"})
    assert asked.where.startswith("jumar: the real NPUs are not used, emulating 8 x Ascend910B3")
    with pytest.raises(UserError, match="`--soc` is for emulated NPUs"):
        command.build(["train.py"], RunRequest(soc="310P3"), {})


def test_emulate_0_never_emulates() -> None:
    built = command.build(["train.py"], RunRequest(), {"JUMAR_EMULATE": "0"})
    assert built.where == "jumar: using real NPUs (JUMAR_EMULATE=0)"


@pytest.mark.parametrize(
    ("args", "error", "hint"),
    [
        (["run"], "nothing to run", "jumar run train.py"),
        (["run", "trian.py"], "no such script or program: `trian.py`", "did you mean `train.py`?"),
        (["run", "--soc", "Ascend910B33", "train.py"], "unknown SoC name: `Ascend910B33`", "`Ascend910B3`"),
        (["run", "--cards", "0", "train.py"], "`0` is not a number of cards", "take 1 to 64"),
        (["run", "--memory", "much", "train.py"], "`much` is not a memory size", "`32G`"),
        (["run", "--cars", "2", "train.py"], "no such option: `--cars`", "--cards"),
        (["run", "-m"], "`-m` needs a value", ""),
        (["emulate", "prefix", "train.py"], "exists and was not written by Jumar", "name a new folder"),
    ],
)
def test_mistakes_exit_with_2(jumar: Jumar, args: list[str], error: str, hint: str) -> None:
    done = jumar(*args)
    assert done.code == 2
    assert error in done.err
    assert hint in done.err
    assert "Traceback" not in done.err


def test_variables_are_checked_as_options_are(jumar: Jumar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUMAR_SOC", "Ascend911")
    done = jumar("run", "train.py")
    assert done.code == 2
    assert "unknown SoC name: `Ascend911`" in done.err


def test_record_needs_a_known_suffix(jumar: Jumar, monkeypatch: pytest.MonkeyPatch) -> None:
    from jumar.emulate.glue import build

    monkeypatch.setattr(build, "library", lambda: Path())
    done = jumar("run", "--ops", "ops.txt", "train.py")
    assert done.code == 2
    assert "name it `.json` or `.csv`" in done.err


def test_print_shows_the_command(jumar: Jumar) -> None:
    done = jumar("run", "--cards", "2", "--print", "train.py", "two words")
    assert done.code == 0
    lines = done.out.splitlines()
    assert "export JUMAR_CARDS=2" in lines
    assert lines[-1] == f"{sys.executable} train.py 'two words'"
    assert not Path("prefix").exists()


def test_packages_that_are_missing_or_do_not_match(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(command.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError) as caught:
        command._check_packages()
    assert caught.value.hint == "pip install 'jumar[emulator]'"
    monkeypatch.setattr(command.importlib.util, "find_spec", lambda name: object())
    versions = {"torch": "2.12.0+cpu", "torch_npu": "2.11.0.post1"}
    monkeypatch.setattr(command.metadata, "version", versions.__getitem__)
    with pytest.raises(UserError, match="do not match") as caught:
        command._check_packages()
    assert tested.pair_hint() in str(caught.value.hint)
