"""The guide's commands run as they are typed, and both languages have the same ones."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).parents[2]
GUIDE = TOP / "docs" / "guides" / "export.md"


SOURCE = """
import torch
def alone(): return torch.nn.Linear(4, 2)
def wrong(): return 3
if __name__ == "__main__":
    torch.export.save(torch.export.export(alone().eval(), (torch.zeros(1, 4),)), "net.pt2")
"""


def _blocks(language: str, guide: Path = GUIDE) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", guide.read_text(encoding="utf-8"), re.M | re.S)


def test_both_languages_have_the_same_blocks() -> None:
    chinese = GUIDE.with_name("export.zh-CN.md")
    for language in ("sh", "text", "python"):
        assert _blocks(language) == _blocks(language, chinese) != []


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("onnxscript") is None, reason="torch's exporter needs onnxscript")
def test_commands_run(tmp_path: Path) -> None:
    shutil.copytree(TOP / "examples" / "offline", tmp_path / "offline")
    lines = _blocks("sh")[0].splitlines()
    # The interpreter of the tests first, whatever else is called python.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    typed = "\n".join(re.sub(r"^jumar", f"{sys.executable} -m jumar", line) for line in lines)
    done = subprocess.run(
        ["bash", "-ec", typed], cwd=tmp_path / "offline", env={**os.environ, "PATH": path}, capture_output=True,
        text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert _blocks("text")[0] in done.stdout
    assert "channel 2: class 2" in done.stdout and "pyACL: class 2" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("onnxscript") is None, reason="torch's exporter needs onnxscript")
def test_torch_models_of_every_form(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(SOURCE)
    jumar = [sys.executable, "-m", "jumar", "export", "check"]

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)

    assert run(sys.executable, "-m", "jumar", "run", "net.py").returncode == 0
    assert "`net.pt2` holds pickled Python" in run(*jumar, "net.pt2").stderr
    done = run(*jumar, "net.py:alone", "--shape", "x:1,4", "-o", "net.onnx")
    assert done.returncode == 0 and (tmp_path / "net.onnx").is_file(), done.stderr
    assert "without example inputs" in run(*jumar, "net.py:alone").stderr
    assert "returned int" in run(*jumar, "net.py:wrong").stderr


def test_files_that_are_no_torch_model(jumar: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "bad.pt2").write_text("no archive")
    assert "it is not an archive" in jumar("export", "check", tmp_path / "bad.pt2").err
    assert "no such file" in jumar("export", "check", f"{tmp_path}/nothing.py:make").err
