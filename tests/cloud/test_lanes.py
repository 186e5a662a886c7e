"""Sums of parts of a file, many at once or one after the other, are those of hashlib."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from jumar.cloud import lanes
from jumar.core.errors import UserError

SIZES = (0, 1, 55, 56, 63, 64, 65, 4096, 65535, 65536, 65537, 131072 + 57)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(2_800_000))
    return path


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("size", SIZES)
def test_sums_are_those_of_hashlib(file: Path, monkeypatch: pytest.MonkeyPatch, native: bool, size: int) -> None:
    if native and lanes._native() is None:
        pytest.skip("this tree was not built, so there is no libjumar_md5.so")
    if not native:
        monkeypatch.setattr(lanes, "_native", lambda: None)
    data = file.read_bytes()
    parts = [(number * size + number * 7, size) for number in range(20)] + [(5, size // 2)]
    assert lanes.digests(str(file), parts) == [hashlib.md5(data[at : at + much]).hexdigest() for at, much in parts]
    assert lanes.group() == (lanes.LANES if native else 1)


def test_a_file_that_became_shorter_is_said(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Native:
        def jumar_md5_parts(self, *arguments: Any) -> int:
            return -1

    real = lanes._native()
    monkeypatch.setattr(lanes, "_native", lambda: real or Native())
    with pytest.raises(UserError, match="became shorter while it was read"):
        lanes.digests(str(file), [(2_799_999, 100)] * 8)
