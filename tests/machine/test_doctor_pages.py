"""Checks and pages match in both directions; the guide's commands run, in both languages the same ones."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from virtual_machine import Machine

from jumar.machine import check
from jumar.tables import pages

TOP = Path(__file__).parents[2]
GUIDE = TOP / "docs" / "guides" / "doctor.md"
OWN = {check.CONNECTION: "connection", check.CRASHED: "crashed", check.LATE: "late"}


def _blocks(language: str, guide: Path = GUIDE) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", guide.read_text(encoding="utf-8"), re.M | re.S)


def test_every_check_has_a_page_and_every_page_a_check() -> None:
    text = (TOP / "docs" / "findings" / "doctor.md").read_text(encoding="utf-8")
    written = dict(re.findall(r"^## (DR\d{3}) ([a-z-]+)$", text, re.M))
    assert written == OWN | {unit.check.id: unit.check.name for unit in check.units()}


def test_files_are_named_after_their_checks() -> None:
    folder = TOP / "src" / "jumar" / "machine" / "checks"
    stems = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert stems == {unit.check.name.replace("-", "_") for unit in check.units()}


def test_explain_prints_the_page(jumar: Callable[..., Any]) -> None:
    assert pages.pages()["DR403"].area == "doctor"
    assert jumar("explain", "dr403").out.startswith("## DR403 environment\n")


def test_both_languages_have_the_same_blocks() -> None:
    for language in ("sh", "text"):
        assert _blocks(language) == _blocks(language, GUIDE.with_name("doctor.zh-CN.md"))


COMMANDS = [line for block in _blocks("sh") for line in block.splitlines() if line.startswith("jumar doctor")]


@pytest.mark.parametrize("command", sorted({line for line in COMMANDS if "--host" not in line}))
def test_commands_of_the_guide_run(
    command: str, jumar: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path / "machine")
    for name, value in machine.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    if "--from" in command:
        jumar("doctor", "--collect", "collected")
    done = jumar(*shlex.split(command)[1:])
    assert done.code in (0, 1), done.err
    assert "DR002" not in done.out
