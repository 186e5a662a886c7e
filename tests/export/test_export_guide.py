"""The guide's commands run as they are typed, and both languages have the same ones."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
GUIDE = TOP / "docs" / "guides" / "export.md"


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
