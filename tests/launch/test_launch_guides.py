"""The guides' commands are accepted, both languages have the same ones, and every finding has its section."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.tables import pages

TOP = Path(__file__).parents[2]
GUIDES = sorted(path for path in (TOP / "docs" / "guides").glob("*.md")
                if re.fullmatch(r"(launch(-\w+)?|rank-tables|net)\.md", path.name))  # fmt: skip
CONF = "".join(f"address_{card}=10.0.{card}.{{}}\n" for card in range(8))
TOOL = "".join(f"$ hccn_tool -i {card} -ip -g\nipaddr:10.0.{card}.2\nnetmask:255.255.255.0\n" for card in range(8))


def blocks(language: str, guide: Path) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", guide.read_text(encoding="utf-8"), re.M | re.S)


def commands(name: str) -> list[str]:
    return [line for guide in GUIDES if re.fullmatch(name, guide.stem)
            for block in blocks("sh", guide) for line in block.splitlines()]  # fmt: skip


def test_there_are_seven_guides_in_two_languages() -> None:
    assert len(GUIDES) == 7
    for guide in GUIDES:
        chinese = guide.with_name(f"{guide.stem}.zh-CN.md")
        for language in ("sh", "python", "text"):
            assert blocks(language, guide) == blocks(language, chinese), guide.name
        assert blocks("sh", guide)


@pytest.mark.parametrize("command", commands(r"launch.*"))
def test_what_a_guide_launches_can_be_launched(
    jumar: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """With `--print` put in, it shows what it would start."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUMAR_EMULATE", "0")
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7")
    (tmp_path / "train.py").write_text("print('LOCAL_RANK')\n")
    words = shlex.split(command)
    assert words[:2] == ["jumar", "launch"]
    bound = ["--bind", "none"] if "--bind" not in words else []
    done = jumar("launch", *bound, "--print", *words[2:])
    assert done.code == 0, done.err
    assert "train" in done.out
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]


@pytest.mark.parametrize("guide", ["rank-tables", "net"])
def test_the_other_commands_run(
    jumar: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guide: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "node1.conf").write_text(CONF.format(*[1] * 8))
    (tmp_path / "node2.txt").write_text(TOOL)
    (tmp_path / "hosts.txt").write_text("node1 10.0.0.1 10.0.1.1\nnode2 10.0.0.2 10.0.1.2\n")
    for command in commands(guide):
        done = jumar(*shlex.split(command)[1:])
        assert done.code == 0, (command, done.err)
        assert done.out or done.err


def test_every_finding_has_a_section_and_every_section_a_finding() -> None:
    text = "".join(path.read_text() for path in (TOP / "src" / "jumar" / "launch").rglob("check.py"))
    used = set(re.findall(r'"(LN\d{3})"', text))
    assert used == {name for name in pages.pages() if name.startswith("LN")}
