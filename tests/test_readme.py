"""The README in two languages says the same commands, and names only pages that are there."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]


def _commands(text: str) -> list[str]:
    return [line for block in re.findall(r"```sh\n(.*?)```", text, re.S) for line in block.splitlines()]


def _pages(text: str) -> list[str]:
    return re.findall(r"\]\(([^)#:]+)\)", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))


def _pairs() -> list[tuple[Path, Path]]:
    chinese = [*TOP.glob("*.zh-CN.md"), *TOP.glob("docs/guides/*.zh-CN.md"), *TOP.glob("docs/tutorials/*.zh-CN.md")]
    return [(path.with_name(path.name.replace(".zh-CN", "")), path) for path in sorted(chinese)]


@pytest.mark.parametrize(("english", "chinese"), _pairs(), ids=lambda path: path.name)
def test_both_languages_show_the_same_commands(english: Path, chinese: Path) -> None:
    commands = _commands(english.read_text())
    assert commands or english.name == "index.md"
    assert _commands(chinese.read_text()) == commands


@pytest.mark.parametrize("page", [page for pair in _pairs() for page in pair], ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    missing = [link for link in _pages(page.read_text()) if not (page.parent / link).exists()]
    assert not missing


def test_ci_runs_the_command_of_the_readme() -> None:
    last = (TOP / ".ci" / "run").read_text().strip().splitlines()[-1]
    assert last.removeprefix("exec ") in _commands((TOP / "README.md").read_text())


@pytest.mark.skipif(importlib.util.find_spec("torch_npu") is None, reason="torch_npu is not installed")
def test_the_demo_comes_to_equal_losses() -> None:
    call = [sys.executable, str(TOP / "tools" / "demo.py")]
    done = subprocess.run(call, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "losses on the emulated NPU and on the CPU: equal" in done.stdout
