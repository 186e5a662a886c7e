"""The cases of `jumar selftest`: their names, and what they and the judge say on a card."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jumar.selftest import case

QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
"""Emulation has loaded Jumar before pytest begins."""


@pytest.mark.parametrize(
    ("name", "which"),
    [
        ("cases_on_card", "not slow"),
        pytest.param("cases_on_card", "slow", marks=pytest.mark.slow),
        ("judge_on_card", "not slow"),
    ],
)
def test_cases_and_judge_on_a_card(name: str, which: str) -> None:
    """In a process of its own, which loads torch with its cards. On real ones: `pytest tests/selftest/NAME.py`."""
    file = Path(__file__).with_name(f"{name}.py")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-m",
        which,
        *QUIET,
        str(file),
    ]
    environ = {**os.environ, "JUMAR_EMULATE": "1", "JUMAR_QUIET": "1"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ids_are_unique_and_name_their_family() -> None:
    ids = [unit.id for unit in case.units()]
    assert len(ids) == len(set(ids)) > 500
    assert all(unit.case.seconds <= 180 and unit.case.memory_mib <= 8192 for unit in case.units())
    assert {unit.family for unit in case.chosen(["products"], ["*/bfloat16"])} == {"products"}
    assert not [unit for unit in case.chosen(["products"], ["*/bfloat16"]) if unit.dtype == "bfloat16"]
    assert [unit.id for unit in case.chosen(["products/mm"], [])] == [
        "products/mm/float32", "products/mm/float16", "products/mm/bfloat16",
    ]  # fmt: skip
