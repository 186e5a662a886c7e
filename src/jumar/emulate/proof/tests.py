"""A plug-in of pytest, copied into the scratch folder: writes a line when a test begins and one when it has ended."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

import pytest

_HERE = os.path.dirname(os.path.abspath(__file__))
_KEPT = 12
with open(os.path.join(_HERE, "spec.json"), encoding="utf-8") as _file:
    _SPEC = json.load(_file)
if not _SPEC["caged"]:
    sys.path.insert(0, _HERE)
    import guard  # type: ignore[import-not-found]

    sys.path.remove(_HERE)
    try:  # The emulator asks the compiler for its version when the first card is used: the guard would forbid that.
        from jumar.emulate.glue import build

        build.library()
    except ImportError:
        pass
    guard.install(_SPEC["scratch"])


class Late(Exception):
    """A test took longer than it may."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what an earlier process has told already."""
    done = set(_SPEC["done"])
    items[:] = [item for item in items if item.nodeid not in done]


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed and report.nodeid not in _SPEC["done"]:
        _tell({"test": report.nodeid, "end": "failed", **_error(str(report.longrepr))})


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    _tell({"test": item.nodeid})

    def ring(number: int, frame: object) -> None:
        raise Late(f"the test took longer than {_SPEC['limit']:g} s")

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, _SPEC["limit"])
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """One line: the call's, unless setup or teardown went wrong."""
    skipped = report.when == "setup" and report.skipped
    if report.when != "call" and not report.failed and not skipped:
        return
    told: dict[str, Any] = {"test": report.nodeid, "seconds": round(report.duration, 2)}
    if report.skipped:
        told |= {"end": "skipped"}
    elif report.passed:
        told |= {"end": "ok"}
    else:
        told |= {"end": "failed", **_error(report.longreprtext)}
        if "tests.Late" in report.longreprtext or "Late: the test took" in report.longreprtext:
            told["end"] = "reached the time limit"
    _tell(told)


def _error(text: str) -> dict[str, Any]:
    lines = [line.rstrip()[:300] for line in text.replace(_SPEC["top"] + "/", "").splitlines() if line.strip()]
    errors = [line[1:].strip() for line in lines if line.startswith("E ")]
    return {"error": (errors or lines or [""])[-1][:500], "trace": lines[-_KEPT:]}


def _tell(row: dict[str, Any]) -> None:
    with open(_SPEC["results"], "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
