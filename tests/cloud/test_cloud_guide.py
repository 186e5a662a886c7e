"""The guide's commands run on the stand-in as they are written."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.cloud import target
from jumar.core.compat import tomllib

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "cloud.md"


def _blocks(language: str, guide: Path = GUIDE) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", guide.read_text(encoding="utf-8"), re.M | re.S)


def test_every_command_of_the_guide_works(
    jumar: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "code").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "code" / "train.py").write_text(_blocks("python")[0])
    (tmp_path / "data" / "a.txt").write_text("x")
    (tmp_path / "KeyPair.pem").write_text("-----BEGIN PRIVATE KEY-----\n")
    (tmp_path / "KeyPair.pem").chmod(0o600)
    for line in (line for block in _blocks("sh") for line in block.splitlines()):
        done = jumar(*shlex.split(line)[1:])
        assert done.code == 0, f"{line}: {done.err}"
    assert (tmp_path / "out" / "result-1.txt").read_text() == "done"


def test_the_mindspore_guide_is_the_same_in_both_languages_and_names_what_is_there() -> None:
    page = GUIDE.with_name("cloud-mindspore.md")
    assert _blocks("sh", page) == _blocks("sh", page.with_name("cloud-mindspore.zh-CN.md"))
    words = " ".join(_blocks("sh", page)).split()
    assert [word for word in words if word.startswith("examples/")] == ["examples/cifar/train.py"]
    assert (GUIDE.parents[2] / "examples" / "cifar" / "train.py").is_file()


def test_both_languages_have_the_same_blocks_and_the_files_are_valid(tmp_path: Path) -> None:
    for language in ("sh", "toml", "python"):
        assert _blocks(language) == _blocks(language, GUIDE.with_name("cloud.zh-CN.md"))
    for text in _blocks("toml"):
        tomllib.loads(text)
        (tmp_path / "jumar.toml").write_text(text)
        target.find(None, target.load_config(tmp_path), {})
