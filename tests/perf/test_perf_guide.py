"""The commands of the guide run, one after the other, and its Chinese twin has the same ones."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
GUIDE = TOP / "docs" / "guides" / "perf.md"


def _blocks(language: str, guide: Path = GUIDE) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", guide.read_text(encoding="utf-8"), re.M | re.S)


def test_commands_run_in_order(tmp_path: Path) -> None:
    """Exit 0 or 1 says that the work was done."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed: pip install 'jumar[emulator]'")
    shutil.copytree(TOP / "examples", tmp_path / "examples")
    (tmp_path / "out").mkdir()
    said = ""
    for command in "".join(_blocks("sh")).splitlines():
        typed = re.sub(r"^jumar", f"{sys.executable} -m jumar", command)
        done = subprocess.run(typed, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode in (0, 1), done.stderr
        assert "Traceback" not in done.stderr
        said += done.stdout
    for name in ("rms-norm", "rotary", "attention", "swiglu"):
        assert f"fusible-operators: {name}" in said
    assert "train.py:70: PF102 unfused-optimizer: AdamW" in said
    assert "<svg" in (tmp_path / "out" / "perf.html").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "out" / "trace.json").read_text(encoding="utf-8"))["traceEvents"]


@pytest.mark.parametrize("language", ["sh", "bash", "text"])
def test_both_languages_show_the_same(language: str) -> None:
    assert _blocks(language) == _blocks(language, GUIDE.with_name("perf.zh-CN.md"))
