"""No command ends with a traceback, waits for ever or leaves a user without a hint, whatever it is given."""

from __future__ import annotations

import json
import os
import signal
import socketserver
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import bad_inputs
import pytest

from jumar.runtime import activation

LIMIT = 30
"""Seconds after which a call counts as waiting for something; none takes a tenth of one."""
COMMANDS = dict(bad_inputs.commands())
Run = Callable[..., Any]


class Late(BaseException):
    """The command waits for something."""


@pytest.fixture(autouse=True)
def _harmless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is started, served or switched on; everything that is kept lies in the folder of the test."""

    def refuse(*words: object, **options: object) -> NoReturn:
        raise FileNotFoundError(2, os.strerror(2), "program")

    def late(*_: object) -> NoReturn:
        raise Late

    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for owner, name in ((subprocess.Popen, "__init__"), (os, "execvpe"), (os, "execvp"), (os, "fork")):
        monkeypatch.setattr(owner, name, refuse)
    monkeypatch.setattr(subprocess.Popen, "__del__", lambda _: None)
    monkeypatch.setattr(socketserver.BaseServer, "serve_forever", lambda *_, **__: None)
    monkeypatch.setattr(activation.marker, "__defaults__", (str(tmp_path),))
    monkeypatch.setattr(activation.switch_on, "__defaults__", (str(tmp_path),))
    monkeypatch.setattr(activation.switch_off, "__defaults__", (str(tmp_path),))
    monkeypatch.chdir(tmp_path)
    before = signal.signal(signal.SIGALRM, late)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_bad_input_gets_a_message(path: tuple[str, ...], jumar: Run, tmp_path: Path) -> None:
    places = bad_inputs.wrong_places(tmp_path)
    kinds = _kinds(places)
    wrong = []
    for case in bad_inputs.cases(path, COMMANDS[path], places):
        signal.alarm(LIMIT)
        try:
            done = jumar(*case.words)
        except BaseException as error:
            wrong.append(f"{case.name}: {type(error).__name__}: {error}")
            continue
        finally:
            signal.alarm(0)
        if problem := _problem(done, "--json" in case.words):
            wrong.append(f"{case.name}: {problem}\n  {case.words}\n  {done.err[-500:]!r}")
        if kinds != _kinds(places):
            wrong.append(f"{case.name}: it destroyed something\n  {case.words}")
            kinds = _kinds(places)
    assert not wrong, "\n".join(wrong)


def _kinds(places: dict[str, str]) -> dict[str, int]:
    """What the wrong places are: a pipe stays a pipe, and a device a device."""
    kept = ("device", "folder", "loop", "pipe")
    return {name: stat.S_IFMT(os.lstat(places[name]).st_mode) for name in kept if os.path.lexists(places[name])}


def _problem(done: Any, as_json: bool) -> str:
    said = json.dumps(json.loads(done.out)["errors"]) if as_json else done.err
    if done.code not in (0, 1, 2, 3):
        return f"exit code {done.code}"
    if "Traceback" in done.err or "unexpected " in said:
        return "not a message for a user"
    if "\n    fix: " in done.out:
        return ""  # `doctor` of a machine that cannot be reached says so in a finding
    if done.code == 2 and (said.count("error: ") != 1 or "\nhint: " not in said):
        return "no error with a hint"
    return ""
