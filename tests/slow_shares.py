"""Slow tests in shares: which test belongs to which, how long it takes, and which were not reached in time.

`slow.json` has a row for each test that was measured, with its share and its seconds; `tools/slow.py` writes it. A test
keeps its share when times change, so that four shares in a row are the whole suite whatever was measured in between.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

COUNT = 4
FILE = Path(__file__).with_name("slow.json")
UNKNOWN = 30.0
"""Seconds of a test without a row."""
MARGIN = 1.5
"""A test may take so much longer than it did when it was measured."""
NOT_REACHED = "not reached: no time was left for it"


class Row(NamedTuple):
    share: int
    seconds: float


def read(path: Path = FILE) -> dict[str, Row]:
    return {test: Row(*row) for test, row in json.loads(path.read_text(encoding="utf-8")).items()}


def row_of(test: str, rows: Mapping[str, Row]) -> Row:
    return rows.get(test) or Row(zlib.crc32(test.encode()) % COUNT + 1, UNKNOWN)


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("slow tests")
    group.addoption("--share", type=int, choices=range(1, COUNT + 1), help=f"run this share of {COUNT} only")
    group.addoption("--until", type=float, help="start no test that would end after this time, in seconds since 1970")
    group.addoption("--events", type=Path, help="write what happens to this file, a line of JSON for each event")


def install(config: pytest.Config) -> None:
    rows = read() if FILE.exists() else {}
    config.pluginmanager.register(Shares(config.option.share, config.option.until, rows))
    if config.option.events is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Events(config.option.events))


class Shares:
    """In every process that runs tests."""

    def __init__(self, share: int | None, until: float | None, rows: Mapping[str, Row]) -> None:
        self.share, self.until, self.rows = share, until, rows

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if self.share is None:
            return
        others = [item for item in items if row_of(item.nodeid, self.rows).share != self.share]
        items[:] = [item for item in items if row_of(item.nodeid, self.rows).share == self.share]
        if others:
            config.hook.pytest_deselected(items=others)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        needed = MARGIN * row_of(item.nodeid, self.rows).seconds
        if self.until is not None and time.time() + needed > self.until:
            pytest.skip(NOT_REACHED)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        return ("not reached", "-", "NOT REACHED") if _outcome(report) == "not reached" else None


class Events:
    """In the process that hears of all tests: what was chosen, what began, and how it ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes: dict[str, str] = {}
        self.seconds: dict[str, float] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._chosen([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        self._chosen(ids)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write({"event": "began", "test": nodeid, "at": time.time()})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test, outcome = report.nodeid, _outcome(report)
        self.seconds[test] = self.seconds.get(test, 0.0) + report.duration
        if outcome != "passed" and self.outcomes.get(test) != "failed":
            self.outcomes[test] = outcome
        if report.when == "teardown":
            how = self.outcomes.get(test, "passed")
            self._write({"event": "ended", "test": test, "outcome": how, "seconds": self.seconds[test]})

    def _chosen(self, tests: list[str]) -> None:
        if tests:
            self._write({"event": "chosen", "tests": tests})

    def _write(self, event: Mapping[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")


def _outcome(report: pytest.TestReport) -> str:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    return "not reached" if report.outcome == "skipped" and reason.endswith(NOT_REACHED) else report.outcome
