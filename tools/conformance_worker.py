"""The process that runs one file of vendor tests for conformance.py and writes a line per case."""

from __future__ import annotations

import atexit
import gc
import importlib.util
import json
import os
import re
import resource
import sys
import tempfile
import traceback
import unittest
import warnings
from pathlib import Path
from typing import Any

import conformance_alone

EXIT_FUNCTIONS_RAN = 99
"""The code of a process that ends after a case which ran them: torch's own take operators with them."""
_RANK_DIED = re.compile(r"^Process \S+:\nTraceback", re.M)


def run(path: str, log: str, done: list[str], memory: int, fork: bool = False) -> None:
    """Runs `path` without the cases in `done`, in at most `memory` bytes; never returns."""
    conformance_alone.have_own_network()
    if fork:
        _start_by_fork()
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    gc.freeze()  # what was imported in advance stays: looking through it again and again takes longer than a test
    output = os.open(f"{log}.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.argv = [path]
    warnings.simplefilter("default")  # as a runner of unittest has it: some tests count warnings
    with tempfile.TemporaryDirectory() as scratch, open(log, "a", encoding="utf-8", buffering=1) as lines:
        os.chdir(scratch)  # some tests write files beside themselves
        result = Result(lines, Path(f"{log}.out"))
        conformance_alone.end_when_ranks_have(lambda: os.path.getsize(log))
        try:
            suite = _load(Path(path))
        except unittest.SkipTest as reason:
            result.write("(file)", "skipped", str(reason))
        except BaseException:
            result.write("(file)", "failed", traceback.format_exc())
        else:
            unittest.TestSuite(case for case in _flat(suite) if _name(case) not in done).run(result)
        os.chdir("/")
    # Threads and handlers of what was tested must not keep the process or change its exit code.
    os._exit(0)


def _start_by_fork() -> None:
    """Ranks that a test wants to spawn are forked from one process: each of them would import torch anew."""
    import multiprocessing

    import torch.multiprocessing

    # The server does not take over sys.path.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["conformance_ranks", "torch_npu.testing.testcase"])
    for module in (multiprocessing, torch.multiprocessing):
        module.get_context = lambda method=None: server  # type: ignore[attr-defined, assignment]


class Result(unittest.TestResult):
    """What starts and how it ends, written at once so that a crash loses nothing."""

    def __init__(self, lines: Any, output: Path) -> None:
        super().__init__()
        self._lines = lines
        self._output = output
        self._written = 0
        self._failed = False
        self._leaving: list[bool] = []
        atexit.register(self._leaving.append, True)

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self._failed = False
        self._written = self._output.stat().st_size
        self.write(_name(test), "started", "")

    def addSuccess(self, test: Any) -> None:
        if self._failed:
            return
        # Some tests do not look whether their ranks came to an end.
        text = self._output.read_bytes()[self._written :].decode(errors="replace")
        died = _RANK_DIED.search(text)
        self.write(_name(test), "failed" if died else "passed", text[died.start() :] if died else "")

    def stopTest(self, test: Any) -> None:
        super().stopTest(test)
        if self._leaving:
            os._exit(EXIT_FUNCTIONS_RAN)

    def addSkip(self, test: Any, reason: str) -> None:
        if not self._failed:
            self.write(_name(test), "skipped", reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self.write(_name(test), "passed", "")

    def addUnexpectedSuccess(self, test: Any) -> None:
        self.write(_name(test), "failed", "AssertionError: passed where a failure was expected")

    def addFailure(self, test: Any, err: Any) -> None:
        self._failed = True
        self.write(_name(test), "failed", "".join(traceback.format_exception(*err)))

    addError = addFailure

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self.addFailure(test, err)

    def write(self, name: str, state: str, text: str) -> None:
        self._lines.write(json.dumps({"name": name, "state": state, "text": text[-6000:]}) + "\n")


def _load(path: Path) -> unittest.TestSuite:
    # Neighbours are imported by their plain names, as when the file is run as a script.
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"not a Python file: {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return unittest.defaultTestLoader.loadTestsFromModule(module)


def _flat(suite: Any) -> list[Any]:
    if isinstance(suite, unittest.TestSuite):
        return [case for part in suite for case in _flat(part)]
    return [suite]


def _name(test: Any) -> str:
    name: str = test.id()
    return name.split(".", 1)[-1]
