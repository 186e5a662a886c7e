"""The view of steps that are carried out: a moving line for a person at a terminal, plain lines otherwise."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from jumar.cli import show
from jumar.core.printable import printable

MARKS = {"done": "done", "skipped": "done already", "failed": "failed"}


class Steps:
    """Call it with number, count, title and state; rich is loaded only at a terminal."""

    def __init__(self) -> None:
        self.status: Any = None
        self.person = sys.stderr.isatty()

    def __call__(self, number: int, count: int, title: str, state: str) -> None:
        line = f"[{number}/{count}] {title}"
        if state == "running":
            self._start(line)
            return
        self._stop()
        show.say(f"{line}: {MARKS[state]}", err=True)

    def _start(self, line: str) -> None:
        if not self.person:
            show.say(line, err=True)
            return
        from rich.console import Console
        from rich.markup import escape

        self.status = Console(stderr=True).status(escape(printable(line)))
        self.status.start()

    def _stop(self) -> None:
        if self.status is not None:
            self.status.stop()
            self.status = None

    def __enter__(self) -> Steps:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
