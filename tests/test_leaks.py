"""The guard that every test runs under: a leak fails, and does not reach the next test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import leaks


def test_changed_variables_are_named_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUMAR_KEPT", "1")
    with pytest.raises(AssertionError, match="the test leaves variables changed: JUMAR_KEPT, JUMAR_NEW"), leaks.none():
        os.environ.update(JUMAR_KEPT="2", JUMAR_NEW="1")
    assert os.environ["JUMAR_KEPT"] == "1" and "JUMAR_NEW" not in os.environ


def test_another_working_directory_fails_and_is_left(tmp_path: Path) -> None:
    folder, gone = os.getcwd(), tmp_path / "gone"
    for place in (tmp_path, gone):
        place.mkdir(exist_ok=True)
        with pytest.raises(AssertionError, match="another working directory"), leaks.none():
            os.chdir(place)
            if place == gone:
                place.rmdir()
        assert os.getcwd() == folder


def test_what_is_put_back_is_no_leak(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with leaks.none(), monkeypatch.context() as change:
        change.setenv("JUMAR_NEW", "1")
        change.chdir(tmp_path)
