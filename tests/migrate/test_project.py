"""A run over a whole project: what is read, how often, and what the result holds."""

from __future__ import annotations

import builtins
import io
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from jumar.migrate import project, walk
from jumar.migrate.settings import Settings

TRAIN = b"import torch\nx = torch.zeros(1).cuda()\n"
KEPT = b"import torch\ntorch.cuda.nope()\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    top = tmp_path / "project"
    top.mkdir()
    (top / "train.py").write_bytes(TRAIN)
    (top / "kept.py").write_bytes(KEPT)
    (top / "start").write_bytes(b"#!/bin/bash\nexport CUDA_VISIBLE_DEVICES=0\n")
    (top / "weights").write_bytes(b"\0" * 300)
    return top


def test_a_file_is_read_once(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, opened = builtins.open, Counter[str]()

    def counting(file: Any, *args: Any, **more: Any) -> Any:
        opened[str(file)] += 1
        return real(file, *args, **more)

    monkeypatch.setattr(builtins, "open", counting)
    monkeypatch.setattr(io, "open", counting)
    result = project.migrate([tree], Settings())
    result.new_files()
    assert {file.texts()[0] for file in result.files} == {TRAIN, KEPT, (tree / "start").read_bytes()}
    opened[str(tree / "start")] -= 1
    assert {name: count for name, count in opened.items() if name.startswith(str(tree))} == {
        str(tree / name): 1 for name in ("train.py", "kept.py", "start", "weights")
    }


def test_an_unchanged_file_with_findings_keeps_its_text(tree: Path) -> None:
    for cached in (False, True, True):
        result = project.migrate([tree / "kept.py"], Settings(), cache=cached)
        (file,) = result.files
        assert (file.before, file.after, file.changed) == (KEPT, KEPT, False)


def test_workers_and_one_process_agree(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "POOL_FROM", 1)
    alone = project.migrate([tree], Settings(), jobs=1, cache=False)
    many = project.migrate([tree], Settings(), jobs=2, cache=False)
    assert alone.files == many.files and alone.lines == many.lines


def test_a_file_that_is_too_large_is_not_read_to_its_end(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "MAX_BYTES", 250)
    (tree / "train.py").write_bytes(TRAIN * 10)
    (file,) = project.migrate([tree / "train.py"], Settings(), cache=False).files
    assert file.findings[0].message == "this file was skipped: it is larger than 5 MB" and file.before == b""
