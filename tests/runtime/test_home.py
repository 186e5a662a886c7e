"""An account without a home folder is told so; nothing goes into a folder named `~`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.core.errors import UserError
from jumar.runtime import home


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "JUMAR_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", str)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("homeless")
def test_no_home_folder_is_said() -> None:
    with pytest.raises(UserError, match="no home folder"):
        home.path()


@pytest.mark.usefixtures("homeless")
@pytest.mark.parametrize(("words", "code"), [("analyze a.py", 1), ("emulate env", 2), ("cloud ls", 2)])
def test_commands_leave_no_folder_behind(words: str, code: int, jumar: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\ntorch.zeros(1).cuda()\n")
    done = jumar(*words.split())
    assert done.code == code
    assert ("this account has no home folder" in done.err) == (code == 2)
    assert os.listdir(tmp_path) == ["a.py"]
