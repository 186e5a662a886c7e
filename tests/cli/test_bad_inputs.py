"""No command ends with a traceback, waits for ever or leaves a user without a hint, whatever it is given."""

from __future__ import annotations

import json
import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bad_inputs
import hostile
import pytest

LIMIT = 30
"""Seconds after which a call counts as waiting for something; none takes a tenth of one."""
COMMANDS = dict(bad_inputs.commands())
Run = Callable[..., Any]


pytestmark = pytest.mark.usefixtures("harmless")


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_bad_input_gets_a_message(path: tuple[str, ...], jumar: Run, tmp_path: Path) -> None:
    places = bad_inputs.wrong_places(tmp_path)
    kinds = _kinds(places)
    wrong = []
    for case in bad_inputs.cases(path, COMMANDS[path], places):
        signal.alarm(LIMIT)
        try:
            with hostile.without_override():
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


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_what_is_no_number_is_refused_by_name(path: tuple[str, ...], jumar: Run, tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("plain text\n")
    for param in filter(bad_inputs.is_number, COMMANDS[path].params):
        option = param.opts[-1]
        below = () if option == "--seed" else ("-1",)
        for word in (*bad_inputs.NO_NUMBERS, *below):
            words = next(
                case.words for case in bad_inputs.cases(path, COMMANDS[path], {}) if case.name == f"{option}-{word}"
            )
            signal.alarm(LIMIT)
            done = jumar(*words)
            signal.alarm(0)
            assert done.code == 2, words
            assert f"`{option}`: " in done.err or word == "-1", f"{words}: {done.err}"


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
