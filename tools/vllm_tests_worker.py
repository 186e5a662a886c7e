"""A pytest plug-in for tools/vllm_tests.py: writes what becomes of each case as soon as it is known.

A case that was told in an earlier process is not run again, a case without an end is stopped after CASE_LIMIT seconds,
and at most MOST_CASES cases of a test are taken, by a hash of their names.
"""

from __future__ import annotations

import collections
import hashlib
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

_TOLD = Path(os.environ["CASES_TOLD"])
_LIMIT = int(os.environ["CASE_LIMIT"])


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    seen: collections.Counter[str] = collections.Counter()
    kept = set()
    for item in sorted(items, key=lambda one: hashlib.sha256(one.nodeid.encode()).digest()):
        test = item.nodeid.split("[")[0]
        seen[test] += 1
        if seen[test] <= int(os.environ["MOST_CASES"]):
            kept.add(item.nodeid)
    told = [json.loads(line) for line in _TOLD.read_text(encoding="utf-8").splitlines()]
    kept -= {row["case"] for row in told if row["state"] != "started"}
    config.hook.pytest_deselected(items=[one for one in items if one.nodeid not in kept])
    items[:] = [one for one in items if one.nodeid in kept]


def pytest_collectreport(report: Any) -> None:
    if report.failed and report.nodeid.endswith(".py"):
        _tell(report.nodeid, "failed", str(report.longrepr).strip().splitlines()[-1])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: Any) -> Any:
    _tell(item.nodeid, "started")
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(_LIMIT)
    try:
        return (yield)
    finally:
        signal.alarm(0)


def _stop(*_: Any) -> None:
    raise TimeoutError(f"no end after {_LIMIT} s")


def pytest_runtest_logreport(report: Any) -> None:
    """A failure of any stage counts; without one, what the call said."""
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        _tell(report.nodeid, "failed", crash.message if crash else str(report.longrepr))
    elif report.skipped:
        _tell(report.nodeid, "skipped")
    elif report.when == "call":
        _tell(report.nodeid, "passed")


def pytest_sessionfinish() -> None:
    _tell("", "finished")


def _tell(case: str, state: str, why: str = "") -> None:
    with _TOLD.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"case": case, "state": state, "why": (why.splitlines() or [""])[0][:300]}) + "\n")
