"""The process that runs one file of vendor tests for conformance.py and writes a line per case."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any


def run(path: str, log: str, done: list[str]) -> None:
    """Runs `path` under pytest, without the cases in `done`; never returns."""
    os.setsid()
    output = os.open(f"{log}.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    test = Path(path)
    sys.path.insert(0, str(test.parent))
    sys.argv = [path]
    warnings.simplefilter("ignore")
    import pytest

    with tempfile.TemporaryDirectory() as scratch, open(log, "a", encoding="utf-8", buffering=1) as lines:
        os.chdir(scratch)  # some tests write files beside themselves
        arguments = ["-q", "-c", os.devnull, f"--rootdir={test.parent}", "--import-mode=importlib", "--tb=short"]
        for plugin in ("cacheprovider", "randomly", "xdist", "faulthandler"):
            arguments += ["-p", f"no:{plugin}"]
        pytest.main([*arguments, path], plugins=[Recorder(lines, set(done))])
        os.chdir("/")
    # Threads and handlers of what was tested must not keep the process or change its exit code.
    os._exit(0)


class Recorder:
    """A pytest plug-in: what starts and how it ends, written at once so that a crash loses nothing."""

    def __init__(self, lines: Any, done: set[str]) -> None:
        self._lines = lines
        self._done = done

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if _name(item.nodeid) not in self._done]

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._write("(file)", "failed", str(report.longrepr))
        elif report.skipped:
            self._write("(file)", "skipped", str(report.longrepr))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write(_name(nodeid), "started", "")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or (report.when == "setup" and not report.passed):
            text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr or "")
            if report.failed:
                text += "".join(content for _, content in report.sections)[-1500:]
            self._write(_name(report.nodeid), "skipped" if report.skipped else report.outcome, text)

    def _write(self, name: str, state: str, text: str) -> None:
        self._lines.write(json.dumps({"name": name, "state": state, "text": text}) + "\n")


def _name(nodeid: str) -> str:
    return nodeid.split("::", 1)[-1]
