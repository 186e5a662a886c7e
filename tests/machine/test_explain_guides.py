"""The guides of `explain` and `smi`: their commands run, and both languages have the same blocks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
LOGS = Path(__file__).parent / "logs"


def _blocks(language: str, name: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (GUIDES / name).read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.parametrize("guide", ["explain", "smi"])
def test_both_languages_have_the_same_blocks(guide: str) -> None:
    for language in ("sh", "bash", "text", "python"):
        assert _blocks(language, f"{guide}.md") == _blocks(language, f"{guide}.zh-CN.md")
    assert _blocks("sh", f"{guide}.md")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(LOGS / "hccp.log", tmp_path / "train.log")
    (tmp_path / "logs").mkdir()
    for rank in (0, 1):
        for place in (tmp_path, tmp_path / "logs"):
            shutil.copy(LOGS / "hccl_watchdog.log", place / f"worker_{rank}.log")
    program = tmp_path / "npu-smi"
    code = "import sys; from jumar.emulate.smi.main import main; sys.exit(main())"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{code}" "$@"\n')
    program.chmod(0o755)
    return tmp_path


COMMANDS = [
    line
    for guide in ("explain.md", "smi.md")
    for block in _blocks("sh", guide)
    for line in block.splitlines()
    if not line.startswith("eval")
]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_guides_run(command: str, folder: Path) -> None:
    typed = re.sub(r"\bjumar\b", f"{sys.executable} -m jumar", command)
    environ = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(typed, shell=True, cwd=folder, capture_output=True, text=True, check=False, env=environ)
    assert done.returncode == (1 if re.search(r"log|-$", command) else 0), done.stderr
    assert done.stdout and not done.stderr


def test_shown_answer_is_the_real_one(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "jumar", "explain", "train.log"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith(_blocks("text", "explain.md")[0])


def test_python_of_the_guide_runs(folder: Path) -> None:
    code = _blocks("python", "explain.md")[0]
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("error: a collective did not end in time\n")
    assert done.stdout.endswith("['HCCL_WATCHDOG'] 0\n")
