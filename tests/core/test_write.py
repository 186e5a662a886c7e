"""Atomic writing: the old file or the new one, never half of one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from jumar.core import write
from jumar.core.errors import UserError


def test_mode_bits_and_links_survive(tmp_path: Path) -> None:
    target = tmp_path / "real.sh"
    target.write_bytes(b"old")
    target.chmod(0o751)
    link = tmp_path / "link.sh"
    link.symlink_to("real.sh")
    write.replace(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o751


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.py"
    target.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="no space is left") as caught:
        write.replace(target, b"new")
    assert caught.value.hint == "free some space, or name a place on another disk; the file is unchanged"
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.py"]


def test_a_new_file_gets_ordinary_rights(tmp_path: Path) -> None:
    write.replace(tmp_path / "new.py", b"x")
    plain = tmp_path / "plain.py"
    plain.touch()
    assert stat.S_IMODE((tmp_path / "new.py").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
