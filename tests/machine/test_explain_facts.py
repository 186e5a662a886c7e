"""Numbers of a line as facts, rows that explain others, and errors that no row knows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.machine.explain import facts, log
from jumar.tables.errors import Role

Run = Callable[..., Any]
LOGS = Path(__file__).parent / "logs"
OOM = (
    "NPU out of memory. Tried to allocate {} (NPU 0; 60.00 GiB total capacity; {} already allocated; "
    "{} free; {} reserved"
)


def _best(line: str) -> str:
    return log.explain_text([line]).causes[0].signature.id


@pytest.mark.parametrize(
    ("asked", "allocated", "free", "reserved", "best"),
    [
        ("2.00 GiB", "58.00 GiB", "0.50 GiB", "59.00 GiB", "NPU_OOM"),
        ("22.00 MiB", "10.00 GiB", "19.00 MiB", "10.50 GiB", "NPU_OOM_OTHERS"),
        ("5.00 GiB", "45.00 GiB", "1.00 GiB", "55.00 GiB", "NPU_OOM_FRAGMENTED"),
        ("50.00 GiB", "10.00 GiB", "45.00 GiB", "11.00 GiB", "NPU_OOM"),
        ("8.00 EiB", "10.00 GiB", "45.00 GiB", "11.00 GiB", "NPU_OOM_CORRUPT"),
    ],
)
def test_memory_is_judged_by_its_numbers(asked: str, allocated: str, free: str, reserved: str, best: str) -> None:
    assert _best(OOM.format(asked, allocated, free, reserved)) == best


def test_sizes_become_bytes() -> None:
    found = re.search(
        r"(?P<total>.*) of (?P<reserved>.*), (?P<allocated>.*), (?P<plain>.*)", "1.5 KiB of 3 GiB, 1 GiB, x"
    )
    assert found
    assert facts.of(found) == {"total": 1536, "reserved": 3 << 30, "allocated": 1 << 30, "idle": 2 << 30}


def test_a_test_about_a_missing_number_does_not_count() -> None:
    assert facts.hold(("free < 0.1 total",), {"free": 1.0})
    assert not facts.hold(("free < 0.1 total",), {"free": 1.0, "total": 2.0})
    assert facts.hold(("free > 0.1 total",), {"free": 1.0, "total": 2.0})


def test_numbers_are_in_json(jumar: Run) -> None:
    found = json.loads(jumar("explain", "--json", LOGS / "oom_other_process.log").out)
    numbers = found["causes"][0]["lines"][0]["facts"]
    assert numbers["asked"] == 22 << 20 and numbers["free"] < numbers["reserved"] < numbers["total"] / 2
    assert found["error"] and found["known"] and not found["collect"]


def test_what_another_row_explains_follows_from_it() -> None:
    result = log.explain([LOGS / "python_too_new.log"])
    roles = {cause.signature.id: cause.signature.role for cause in result.causes}
    assert next(iter(roles)) == "PY_SSIZE_T"
    assert roles["ACL_500002"] is Role.FOLLOWS


def test_names_are_shown(jumar: Run) -> None:
    out = jumar("explain", "ModuleNotFoundError: No module named 'mindspeed.core.moe'").out
    assert out.startswith("error: a part of an installed package is missing")
    assert ": mindspeed.core.moe\n" in out


@pytest.mark.parametrize(
    "line",
    [
        "[ERROR] the flux capacitor is empty",
        "12:00:01 CRITICAL boot.c: no bananas",
        "ld: error: cannot do it",
        "Aborted",
    ],
)
def test_unknown_error_exits_1(line: str, jumar: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(f"all is well\n{line}\n")
    done = jumar("explain", path)
    assert done.code == 1
    assert done.out.startswith("unknown error: nothing in 2 lines fits a known Ascend error\n")
    assert f"{path}:2: {line}" in done.out and "to find the reason, collect:" in done.out
    found = json.loads(jumar("explain", "--json", path).out)
    assert (found["error"], found["known"], bool(found["collect"])) == (True, False, True)


@pytest.mark.parametrize("line", ["epoch 1 mean error: 0.25", "0 errors", "INFO step 7", "Restarted"])
def test_log_without_an_error_exits_0(line: str, jumar: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(f"{line}\n")
    done = jumar("explain", path)
    assert (done.code, done.out) == (0, "no error found in 1 line\n")
    found = json.loads(jumar("explain", "--json", path).out)
    assert (found["error"], found["known"], found["collect"]) == (False, False, [])


def test_lines_that_look_like_errors_stand_back() -> None:
    result = log.explain_text(["[ERROR] something", "RuntimeError: NPU function error: f, error code is 507015"])
    assert [cause.signature.id for cause in result.causes] == ["ACL_507015"]
