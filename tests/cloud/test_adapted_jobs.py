"""An adapted script on the stand-in: what it writes to folders of its own arrives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from program_files import program_text


@pytest.mark.parametrize("contract", ["v1", "v2"])
def test_literal_folders_arrive(
    jumar: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contract: str
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("x")
    (tmp_path / "code" / "train.py").write_text(program_text(__file__, "literal_writes"))
    monkeypatch.chdir(tmp_path)
    assert jumar("cloud", "adapt", "code/train.py", "--write").code == 0
    submit = ("cloud", "submit", "--code", "code", "--boot", "train.py", "--data", "data")
    done = jumar(*submit, "--contract", contract, "--follow")
    assert done.code == 0, done.out + done.err
    assert "warning" not in done.err + done.out
    assert jumar("cloud", "pull", "--last", "-o", "out").code == 0
    found = {path.relative_to("out").as_posix() for path in Path("out").rglob("*") if path.is_file()}
    assert found >= {"ckpt/a.ckpt", "ckpt/b.ckpt", "figures/loss.txt"}
