"""npu-smi reads the table of cards that belongs to its user, whoever else took the name."""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

import pytest

from jumar.emulate import ledger


def _table(path: Path, used: int) -> None:
    started = ledger._start_time(os.getpid())
    head = struct.pack("=IIIIQ32s", 0x4A4D5231, 1024, 8, 0, 64 << 20, b"x")
    path.write_bytes(head + struct.pack("=iiQQ32s", os.getpid(), 0, started, used, b"python"))
    path.chmod(0o600)


def test_a_table_that_others_may_write_is_passed_over(tmp_path: Path) -> None:
    place, own = tmp_path / "machine", tmp_path / "machine~1"
    _table(place, 1)
    _table(own, 2)
    place.chmod(0o666)
    with open(place, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # whoever took the name can hold its lock for ever
        assert [row.used for row in ledger.read(str(place))] == [2]


def test_a_pipe_and_a_link_are_passed_over(tmp_path: Path) -> None:
    _table(tmp_path / "elsewhere", 1)
    _table(tmp_path / "machine~2", 2)
    os.mkfifo(tmp_path / "machine", 0o600)
    (tmp_path / "machine~1").symlink_to("elsewhere")
    assert [row.used for row in ledger.read(str(tmp_path / "machine"))] == [2]


def test_a_table_of_another_user_is_passed_over(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    _table(tmp_path / "machine", 1)
    os.chown(tmp_path / "machine", 65534, 65534)
    assert ledger.read(str(tmp_path / "machine")) == []
