"""Runs files of MindSpore's own tests, each in a fork of this process, and writes a line per file.

Started by mindspore_st.py with MindSpore's interpreter, which need not have Jumar: standard library, pytest, mindspore.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_MARKS = " or ".join(
    ("platform_ascend", "platform_ascend910b", "platform_arm_ascend_training", "platform_x86_ascend_training",
     "platform_arm_ascend910b_training", "platform_x86_ascend910b_training")
)  # fmt: skip
"""The last two are MindFormers'."""
_MOST_RESTARTS = 25
_KEPT = 4000
# Modules that newer releases have under another name: tests only take a reader of tables from them.
_MOVED = {"mindspore.ops_generate.gen_utils": "mindspore.ops_generate.common.gen_utils"}
# Names that numpy had when the tests were written, for types of Python.
_OLDER_NAMES = {"bool": bool, "int": int, "float": float, "complex": complex, "object": object, "str": str}
_PATIENCE = 5
_BASH = "/bin/bash"


def main(job: str) -> None:
    """`job` is a JSON file: root, files (path to node ids, or to nothing for all), limit, memory, out."""
    import mindspore  # noqa: F401  (imported once for all files: it takes longer than most tests)
    import pytest  # noqa: F401

    _find_moved()
    _name_types()
    _use_bash()
    order = json.loads(Path(job).read_text(encoding="utf-8"))
    os.chdir(order["root"])
    sys.path.insert(0, order["root"])
    others = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [others, order["root"]]))  # for processes that tests start
    starter = os.getppid()
    for name, only in order["files"].items():
        if os.getppid() != starter:  # it was stopped
            return
        began = time.monotonic()
        cases = _run_file(name, only, order)
        row = {"file": name, "seconds": round(time.monotonic() - began, 1), "cases": cases}
        with open(order["out"], "a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")


def _find_moved() -> None:
    for before, now in _MOVED.items():
        try:
            importlib.import_module(before)
        except ModuleNotFoundError:
            with contextlib.suppress(ImportError):  # the tests that need it will say so
                sys.modules[before] = importlib.import_module(now)


def _use_bash() -> None:
    """`sh` is bash on the vendor's machines, and tests write their commands for it: `{0..7}`, `&>`."""
    if not Path(_BASH).exists():
        return
    start = subprocess.Popen.__init__

    def begin(self: Any, *arguments: Any, **options: Any) -> None:
        if options.get("shell"):
            options.setdefault("executable", _BASH)
        start(self, *arguments, **options)

    def system(command: str) -> int:
        code = subprocess.call(command, shell=True)
        return code << 8 if code >= 0 else -code

    subprocess.Popen.__init__ = begin  # type: ignore[assignment, method-assign]
    os.system = system  # type: ignore[assignment]


def _name_types() -> None:
    """And the names that left `collections` with Python 3.10."""
    import collections.abc

    import numpy

    for name, kind in _OLDER_NAMES.items():
        if name not in vars(numpy):
            setattr(numpy, name, kind)
    for name in ("Iterable", "Iterator", "Mapping", "Sequence"):
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))


def _run_file(name: str, only: list[str], order: dict[str, Any]) -> list[dict[str, str]]:
    """All cases of one file, over as many processes as it takes."""
    done: dict[str, dict[str, str]] = {}
    for _ in range(_MOST_RESTARTS):
        with tempfile.TemporaryDirectory() as scratch:
            log = Path(scratch) / "cases"
            pid = os.fork()
            if pid == 0:
                _child(name, only, sorted(done), log, order["memory"])
            code = _wait(pid, log, order["limit"])
            running = _collect(log, done)
            if code == 0:
                break
            text = _how_it_ended(code) + "\n" + _tail(Path(f"{log}.out"))
            done[running or "(file)"] = {"name": running or "(file)", "state": "failed", "text": text}
            if not running:
                break
    return [_alone(name, row, order) if len(done) > 1 and _may_depend(row) else row for row in done.values()]


def _may_depend(row: dict[str, str]) -> bool:
    """Whether an error may come from cases that ran before: the vendor gives each case a process of its own.

    A comparison that failed is no such error: nothing wrong may become right by trying again.
    """
    lasting = re.search(
        r"^E +(?:AssertionError|assert )|jumar: |^ran out of time|^killed by", row["text"], re.MULTILINE
    )
    return row["state"] == "failed" and row["name"] != "(file)" and lasting is None


def _alone(name: str, row: dict[str, str], order: dict[str, Any]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "cases"
        pid = os.fork()
        if pid == 0:
            _child(name, [row["name"]], [], log, order["memory"])
        found: dict[str, dict[str, str]] = {}
        _wait(pid, log, order["limit"])
        _collect(log, found)
    return found.get(row["name"], row)  # if it fails again, this text is about the case itself


def _child(name: str, only: list[str], done: list[str], log: Path, memory: int) -> None:
    import pytest

    os.setsid()
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    output = os.open(f"{log}.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    code = 1
    try:
        root = os.getcwd()
        os.chdir(Path(root, name).parent)  # tests find scripts beside themselves, and write there
        where = [f"{root}/{name}::{case}" for case in only] or [f"{root}/{name}"]
        options = ["-q", "-p", "no:cacheprovider", "--rootdir", root, "-W", "ignore", "-m", _MARKS]
        with open(log, "a", encoding="utf-8", buffering=1) as lines:
            code = int(pytest.main([*options, *where], plugins=[_Plugin(lines, set(done), Path(f"{log}.out"))]))
    finally:
        # Threads and handlers of what was tested must not keep the process. Failed and missing cases are no crash.
        os._exit(0 if code in (0, 1, 5) else 3)


class _Plugin:
    """What starts and how it ends, written at once so that a crash loses nothing."""

    def __init__(self, lines: Any, done: set[str], output: Path) -> None:
        self.lines, self.done, self.output = lines, done, output
        self.state: dict[str, dict[str, str]] = {}
        self.variables: dict[str, str] = {}
        self.draws: Any = None

    def write(self, name: str, state: str, text: str) -> None:
        self.lines.write(json.dumps({"name": name, "state": state, "text": text[-_KEPT:]}) + "\n")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if _case(item.nodeid) not in self.done]

    def pytest_collectreport(self, report: Any) -> None:
        if report.outcome == "failed":
            self.write("(file)", "failed", report.longreprtext)

    def pytest_collection_finish(self) -> None:
        """Files seed numpy when they are read; MindSpore's initial weights follow it."""
        import numpy

        self.draws = numpy.random.get_state()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        import numpy

        numpy.random.set_state(self.draws)  # as in a process of its own, whatever the cases before drew
        self.variables = dict(os.environ)
        self.write(_case(nodeid), "started", "")

    def pytest_runtest_logfinish(self) -> None:
        """The vendor gives each case a process of its own: variables that it sets do not reach the next one."""
        if dict(os.environ) != self.variables:
            os.environ.clear()
            os.environ.update(self.variables)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.outcome == "passed" and report.when != "call":
            return
        if report.outcome == "failed" and report.when == "teardown":
            return
        text = "" if report.outcome == "passed" else report.longreprtext + "\n" + report.capstderr[-1500:]
        if text and "os.system(" in text:  # what a script says stands in its output only
            text += "\n" + report.capstdout[-1500:]
        self.write(_case(report.nodeid), report.outcome, text)


def _case(nodeid: str) -> str:
    return nodeid.partition("::")[2]


def _collect(log: Path, done: dict[str, dict[str, str]]) -> str:
    """Adds the cases that ended to `done`; returns the one that was running."""
    running = ""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    for row in (json.loads(line) for line in lines if line.endswith("}")):
        running = row["name"] if row["state"] == "started" else ""
        if not running:
            done[row["name"]] = row
    return running


def _wait(pid: int, log: Path, limit: float) -> int | None:
    """The wait status; None when no case ended for `limit` seconds of CPU, or five times as long on the clock."""
    size, since, spent = -1, time.monotonic(), 0.0
    while True:
        found, code = os.waitpid(pid, os.WNOHANG)
        if found:
            return code
        now = log.stat().st_size if log.exists() else -1
        if now != size:
            size, since, spent = now, time.monotonic(), _cpu_seconds(pid)
        late = time.monotonic() - since
        if late > _PATIENCE * limit or (late > limit and _cpu_seconds(pid) - spent > limit):
            os.killpg(pid, signal.SIGKILL)  # a test may have started processes of its own
            os.waitpid(pid, 0)
            return None
        time.sleep(0.1)


def _cpu_seconds(session: int) -> float:
    """What a child and the processes that it started have used; those that have ended count with their parent."""
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _how_it_ended(code: int | None) -> str:
    if code is None:
        return "ran out of time"
    if os.WIFSIGNALED(code):
        return f"killed by {signal.Signals(os.WTERMSIG(code)).name}"
    return f"ended with code {os.WEXITSTATUS(code)}"


def _tail(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")[-_KEPT:] if path.exists() else ""


if __name__ == "__main__":
    main(sys.argv[1])
