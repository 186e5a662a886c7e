"""The cache: found again by another process, and of no effect on results."""

from __future__ import annotations

import dataclasses
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from jumar.migrate import cache, project
from jumar.migrate.passes.torch import owners
from jumar.migrate.result import ProjectResult
from jumar.migrate.settings import Settings

_SALT = """
from jumar.migrate.cache import _code, _salt
from jumar.migrate.settings import Facts, Settings
print(_salt(Settings(skip=frozenset("abcdefgh"), facts=Facts(own_methods=frozenset("ijklmnop"))), _code()).hex())
"""


def test_every_process_asks_for_the_same_entries() -> None:
    salts = {
        subprocess.run(
            [sys.executable, "-c", _SALT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(salts) == 1 and len(salts.pop().strip()) == 64


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "net.py").write_text("class Net:\n    def cuda(self):\n        return 'a word'\n")
    (folder / "kinds.py").write_text("KIND = 'cuda'\nif KIND in ('cuda', 'triton'):\n    pass\n")
    (folder / "train.py").write_text("import torch\nfrom net import Net\nx = torch.ones(3).cuda()\ny = Net().cuda()\n")
    return folder


def _same(result: ProjectResult) -> ProjectResult:
    return dataclasses.replace(result, seconds=0.0)


def _run(tree: Path, *, cached: bool = True) -> ProjectResult:
    return _same(project.migrate([tree], Settings(), jobs=1, cache=cached))


def test_only_an_edited_file_is_looked_at_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _run(tree)
    looked: list[bytes] = []
    look = owners._own_methods
    monkeypatch.setattr(owners, "_own_methods", lambda raw: looked.append(raw) or look(raw))
    assert _run(tree) == first == _run(tree, cached=False)
    looked.clear()
    (tree / "net.py").write_text("class Net:\n    pass\n")
    again = _run(tree)
    assert looked == [b"class Net:\n    pass\n"]
    assert again == _run(tree, cached=False) != first


def test_a_damaged_cache_changes_nothing(tree: Path) -> None:
    first = _run(tree)
    for told, said in (("[1, 2]", "[1]"), ("{", "{"), ("null", "null"), (b"\xff", b"\xff")):
        database = sqlite3.connect(cache.folder() / "migrate.sqlite")
        with database:
            database.execute("UPDATE look SET told = ?", (told,))
            database.execute("UPDATE result SET said = ?", (said,))
        database.close()
        assert _run(tree) == first
