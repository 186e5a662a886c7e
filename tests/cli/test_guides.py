"""The guides' commands run, their own rule works, and their `jumar.toml` is a valid one."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jumar.core.compat import tomllib
from jumar.migrate import config
from jumar.migrate.project import migrate_bytes

TOP = Path(__file__).parents[2]
GUIDE = TOP / "docs" / "guides" / "migrate.md"


def _blocks(language: str, guide: Path = GUIDE) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", guide.read_text(encoding="utf-8"), re.M | re.S)


ROADMAP = TOP / "docs" / "guides" / "roadmap.md"
COMMANDS = [line for guide in (GUIDE, ROADMAP) for block in _blocks("sh", guide) for line in block.splitlines()]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command: str, tmp_path: Path) -> None:
    """Exit 0 or 1 says that the work was done."""
    shutil.copytree(TOP / "examples", tmp_path / "examples")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "known.json").write_text('{"jumar_baseline": 1, "known": []}')
    typed = re.sub(r"^jumar", f"{sys.executable} -m jumar", command)
    done = subprocess.run(typed, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr


def test_own_rule_of_the_guide_works(tmp_path: Path, trusted: Callable[[Path], None]) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "our_launcher.py").write_text(_blocks("python")[0])
    (tmp_path / "jumar.toml").write_text(_blocks("toml")[0])
    trusted(tmp_path)
    settings = config.settings(config.load(config.find(tmp_path)), {})
    result = migrate_bytes("a.py", b"from ourlib import launch as go\ngo()\n", settings)
    assert result is not None
    assert [(item.id, item.message) for item in result.findings] == [("XX901", "`ourlib.launch` starts GPU jobs")]


def test_both_languages_have_the_same_blocks() -> None:
    chinese = GUIDE.with_name("migrate.zh-CN.md")
    for language in ("sh", "toml", "python", "text"):
        assert _blocks(language) == _blocks(language, chinese)
    tomllib.loads(_blocks("toml")[0])
