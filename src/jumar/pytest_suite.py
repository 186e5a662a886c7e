"""What the pytest plugin does while a suite runs on NPUs; loaded only then."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jumar.app import suite_ranks, suite_record
from jumar.app.suite import Machine
from jumar.core import write
from jumar.core.errors import EXIT_FAILED, UserError
from jumar.report import json as documents
from jumar.report import suite as report_of_suite
from jumar.runtime import refusals
from jumar.runtime.refusals import Kind, Refusal
from jumar.runtime.tell import said

_USED = "npu_used"
_PREFIX = "npu_"
_SEEN: pytest.StashKey[set[Refusal]] = pytest.StashKey()
_RANKS_USED: pytest.StashKey[bool] = pytest.StashKey()
_PATIENCE = 600.0
_KINDS = {kind.value: kind for kind in Kind}
_BLAME = {
    Kind.FALLBACK: "ran on the CPU: it has no NPU kernel",
    Kind.FUNCTION: "was refused: it is not emulated",
    Kind.OPERATOR: "was refused: it is not emulated",
    Kind.ARGUMENTS: "was refused with these arguments",
}


class Suite:
    """Notes for every test what was refused, in the processes of xdist too, and reports it at the end."""

    def __init__(self, config: pytest.Config, machine: Machine) -> None:
        given = config.known_args_namespace
        self.machine = machine
        self.bad = suite_record.chosen(given.npu_fail_on)
        self.worker = False
        self.recorder = suite_record.Recorder()
        self.path: Path | None = None
        self.before = 0

    def pytest_configure(self, config: pytest.Config) -> None:
        self.worker = hasattr(config, "workerinput")
        if self.worker:
            self.recorder.join()

    def pytest_report_header(self) -> str:
        return said(self.machine.where)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.path, self.before = self.recorder.next(), suite_record.allocations()
        item.stash[_SEEN] = set()
        yield
        self.recorder.rest()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        outcome: Any = yield
        report = outcome.get_result()
        if self.path is None or report.when == "setup":
            return
        noted = refusals.read(self.path)
        new = [one for one in noted if one not in item.stash[_SEEN]]
        item.stash[_SEEN].update(new)
        blamed = [one for one in new if suite_record.word(one) in self.bad and not _allowed(item, one)]
        if blamed and report.passed and not hasattr(report, "wasxfail"):
            report.outcome, report.longrepr = "failed", _blame(blamed)
        if report.when == "teardown":
            report.user_properties += [(f"{_PREFIX}{one.kind.value}", one.name) for one in noted]
            if suite_record.allocations() != self.before or item.stash.get(_RANKS_USED, False):
                report.user_properties.append((_USED, "1"))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        outcomes = self.recorder.outcomes
        says = report.when == "call" or not report.passed
        if says and outcomes.get(report.nodeid) != "failed":
            outcomes[report.nodeid] = report.outcome
        if report.when != "teardown":
            return
        for name, value in report.user_properties:
            if name == _USED:
                self.recorder.used[report.nodeid] = None
            elif (kind := name[len(_PREFIX) :]) in _KINDS and name.startswith(_PREFIX):
                self.recorder.add(report.nodeid, Refusal(_KINDS[kind], str(value)))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        result = self.recorder.result(self.machine.emulated, self.machine.where)
        terminalreporter.section("npu")
        for line in report_of_suite.lines(result):
            terminalreporter.write_line(said(line))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.worker or not session.config.option.npu_report:
            return
        result = self.recorder.result(self.machine.emulated, self.machine.where)
        text = documents.text(report_of_suite.document(result)) + "\n"
        try:
            write.replace(Path(session.config.option.npu_report), text.encode())
        except UserError as error:
            pytest.exit(said(error.message), EXIT_FAILED)

    def pytest_unconfigure(self) -> None:
        self.recorder.close()


def _allowed(item: pytest.Item, noted: Refusal) -> bool:
    marks = list(item.iter_markers("npu_allow"))
    return any(not mark.args or noted.name in mark.args for mark in marks)


def _blame(noted: Iterable[Refusal]) -> str:
    return "\n".join(said(f"{one.name} {_BLAME[one.kind]} (`--npu-fail-on`)") for one in noted)


def run_ranks(item: pytest.Function, count: int) -> None:
    """Run a test in its ranks, and fail or skip as they did."""
    mark = item.get_closest_marker("npu_distributed")
    seconds = float(mark.kwargs.get("timeout", _PATIENCE)) if mark else _PATIENCE
    node = f"{item.path}::{item.nodeid.partition('::')[2]}"
    words = suite_ranks.command(node, _options(item.config))
    with tempfile.TemporaryDirectory(prefix="jumar-ranks-") as folder:
        done = suite_ranks.run(words, count, seconds, Path(folder), suite_ranks.environment())
    item.stash[_RANKS_USED] = done.used
    if done.outcome == "failed":
        pytest.fail(done.text, pytrace=False)
    if done.outcome == "skipped":
        pytest.skip(done.text)


def _options(config: pytest.Config) -> list[str]:
    """What makes a rank find the same test: its files and plugins. Options of the suite's own are not passed on."""
    option = config.option
    words = [f"--rootdir={config.rootpath}", f"--import-mode={option.importmode}"]
    words += [f"-c{config.inipath}"] if config.inipath else []
    words += [part for name in option.plugins for part in ("-p", name) if name != "no:terminal"]
    words += [part for value in option.override_ini or () for part in ("-o", value)]
    return [*words, "-n0"] if config.pluginmanager.hasplugin("xdist") else words
