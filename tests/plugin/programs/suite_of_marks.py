"""Marks and fixtures where torch is never imported."""

from __future__ import annotations

import sys

import pytest


@pytest.mark.npu
def test_marked() -> None:
    raise AssertionError


@pytest.mark.npu_distributed(2)
def test_distributed() -> None:
    raise AssertionError


def test_with_cards(npu_cards: tuple[str, ...]) -> None:
    raise AssertionError(npu_cards)


def test_plain() -> None:
    loaded = {name for name in sys.modules if name.startswith("jumar.") and not name.startswith("jumar.pytest_")}
    assert not loaded & {"jumar.emulate", "jumar.start", "jumar.report"} and "torch" not in sys.modules
