"""Started as a script in the cage: runs the project's tests and tells when one begins and how it ended.

usage: tests.py RESULTS < SPEC.json

pytest and its plug-ins are the installed ones, loaded before anything of the project can be found. The tests themselves
are the project's: what it tells here is the project's own word.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

del sys.path[0]  # Our own folder, in which packages must not look for their modules.
import pytest  # noqa: E402

_KEPT = 12


class Late(Exception):
    """A test took longer than it may."""


class Telling:
    """A plug-in of pytest."""

    def __init__(self, spec: dict[str, Any], results: int) -> None:
        self._spec, self._results = spec, results

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what an earlier process has told already."""
        done = set(self._spec["done"])
        items[:] = [item for item in items if item.nodeid not in done]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and report.nodeid not in self._spec["done"]:
            self._tell({"test": report.nodeid, "end": "failed", **self._error(str(report.longrepr))})

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._tell({"test": item.nodeid})

        def ring(number: int, frame: object) -> None:
            raise Late(f"the test took longer than {self._spec['limit']:g} s")

        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, self._spec["limit"])
        yield
        signal.setitimer(signal.ITIMER_REAL, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
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
            told |= {"end": "failed", **self._error(report.longreprtext)}
            if "Late: the test took" in report.longreprtext:
                told["end"] = "reached the time limit"
        self._tell(told)

    def _error(self, text: str) -> dict[str, Any]:
        inside = text.replace(self._spec["top"] + "/", "")
        lines = [line.rstrip()[:300] for line in inside.splitlines() if line.strip()]
        errors = [line[1:].strip() for line in lines if line.startswith("E ")]
        return {"error": (errors or lines or [""])[-1][:500], "trace": lines[-_KEPT:]}

    def _tell(self, row: dict[str, Any]) -> None:
        os.write(self._results, json.dumps(row).encode() + b"\n")


def main() -> int:
    results = int(sys.argv[1])
    os.set_inheritable(results, False)
    spec = json.load(sys.stdin)
    top = spec["top"]
    sys.path[:0] = [top, *(path for path in [f"{top}/src"] if os.path.isdir(path))]
    sys.argv[:] = ["pytest", *spec["options"]]
    return int(pytest.main(spec["options"], plugins=[Telling(spec, results)]))


if __name__ == "__main__":
    sys.exit(main())
