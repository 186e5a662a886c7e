"""The commands of the guides about plans run, and what they show is what is printed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
GUIDES = Path(__file__).parents[2] / "docs" / "guides"
NAMES = ("plan", "bare-server", "board", "shared-node", "container")


def _blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (GUIDES / f"{name}.md").read_text(encoding="utf-8"), re.M | re.S)


COMMANDS = sorted({line for name in NAMES for block in _blocks(name, "sh") for line in block.splitlines()
                   if line.startswith("jumar plan")})  # fmt: skip


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_run(line: str, jumar: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 0 or 1 says that there is an answer."""
    monkeypatch.chdir(tmp_path)
    done = jumar(*shlex.split(line.partition(" > ")[0])[1:])
    assert done.code in (0, 1), done.err
    assert done.out


def test_both_languages_show_the_same() -> None:
    for name in NAMES:
        for language in ("sh", "text"):
            assert _blocks(name, language) == _blocks(f"{name}.zh-CN", language)


def test_shown_answers_are_real(jumar: Run) -> None:
    printed = jumar(*shlex.split("plan --chip 910B3 --arch aarch64 --framework torch==2.6.0 --cann 7.0.RC1")).out
    (shown,) = _blocks("plan", "text")
    assert all(line in printed for line in shown.splitlines())
    image = jumar(*shlex.split("plan --chip 910B3 --arch aarch64 --framework torch==2.7.1 --format dockerfile")).out
    assert _blocks("container", "text")[0] in image
