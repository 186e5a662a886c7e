"""What a test suite met on its NPUs: refused calls and fallbacks by test, and which tests used a card."""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from jumar.core import write
from jumar.core.compat import dataclass
from jumar.core.errors import UserError
from jumar.runtime import refusals, variables
from jumar.runtime.refusals import Kind, Refusal

FALLBACK, REFUSED = "fallback", "refused"
CHOICES = (FALLBACK, REFUSED)
OUTSIDE = ""
"""Stands for what happened while no test ran: imports, collection."""


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """A finished suite."""

    emulated: bool
    where: str
    outcomes: dict[str, int]
    """Number of tests by outcome."""
    used: tuple[str, ...]
    """The tests that used a card."""
    noted: dict[Refusal, tuple[str, ...]]
    """What was refused or fell back, and in which tests."""


def chosen(text: str) -> frozenset[str]:
    """The words of `--npu-fail-on`, separated by commas."""
    words = frozenset(word.strip() for word in text.split(",") if word.strip())
    if unknown := sorted(words.difference(CHOICES)):
        raise UserError(f"`--npu-fail-on`: unknown word: `{unknown[0]}`", f"write {' or '.join(CHOICES)}, or both")
    return words


def check(fail_on: str, report: str | None) -> None:
    """Find out before a long run that its options are wrong."""
    chosen(fail_on)
    if report:
        write.make_folder(Path(report).parent)


def word(item: Refusal) -> str:
    """Which word of `--npu-fail-on` means it."""
    return FALLBACK if item.kind is Kind.FALLBACK else REFUSED


class Recorder:
    """Gives every test a record of its own, so that what is refused has the name of the test.

    A worker of xdist has its own; outside of tests, it writes into the one of the process that started it.
    """

    def __init__(self) -> None:
        self._before, self._worker = variables.REFUSAL_FILE.text(), False
        self._folder = tempfile.TemporaryDirectory(prefix="jumar-pytest-")
        self._outside = Path(self._folder.name) / "outside"
        self._number = 0
        self.outcomes: dict[str, str] = {}
        self.used: dict[str, None] = {}
        self.noted: dict[Refusal, dict[str, None]] = {}
        self.rest()

    def join(self) -> None:
        """This is a worker, which pytest tells after its conftest files: take along what was noted until now."""
        early, self._worker, self._outside = refusals.read(self._outside), True, Path(self._before)
        self.rest()
        for item in early:
            refusals.note(item.kind, item.name)

    def rest(self) -> None:
        """No test runs: what is noted now belongs to none."""
        os.environ[variables.REFUSAL_FILE.name] = str(self._outside)

    def next(self) -> Path:
        """The record of the next test, which is written from here on, by its processes too."""
        self._number += 1
        path = Path(self._folder.name) / str(self._number)
        os.environ[variables.REFUSAL_FILE.name] = str(path)
        return path

    def add(self, test: str, item: Refusal) -> None:
        self.noted.setdefault(item, {})[test] = None

    def result(self, emulated: bool, where: str) -> SuiteResult:
        for item in refusals.read(self._outside):
            self.add(OUTSIDE, item)
        noted = {item: tuple(tests) for item, tests in self.noted.items()}
        return SuiteResult(emulated, where, dict(Counter(self.outcomes.values())), tuple(self.used), noted)

    def close(self) -> None:
        """Hand everything on to whoever asked for a record of the whole process, and forget it."""
        if self._before:
            os.environ[variables.REFUSAL_FILE.name] = self._before
        else:
            os.environ.pop(variables.REFUSAL_FILE.name, None)
        for item in () if self._worker else self.noted:
            refusals.note(item.kind, item.name)
        self._folder.cleanup()


def allocations() -> int:
    """How often this process has taken memory of a card; a test that changes it used one."""
    npu = getattr(sys.modules.get("torch"), "npu", None)
    if npu is None or not npu.is_initialized():
        return 0
    return sum(npu.memory_stats(card).get("allocation.all.allocated", 0) for card in range(npu.device_count()))
