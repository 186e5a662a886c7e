"""Logs of runs that went well: whatever they warn of, there is no error in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumar.machine.explain import log

LOGS = sorted((Path(__file__).parent / "logs_of_success").glob("*.log"))


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_successful_run_has_no_error(path: Path) -> None:
    result = log.explain([path])
    assert not result.has_error, [(cause.signature.id, cause.first.text) for cause in result.causes]


def test_there_are_enough_of_them() -> None:
    assert len(LOGS) >= 12


@pytest.mark.parametrize("step", [145002, 148049, 207001, 500002, 507015, 545002])
def test_number_of_a_step_is_no_error_code(step: int) -> None:
    assert not log.explain_text([f"[INFO] iteration {step}/600000 | lm loss: 8.1"]).has_error
