"""A progress bar on stderr, for a person who has already waited a second."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any

from jumar.core.lang import t
from jumar.core.printable import printable

DELAY = 1.0


class Progress:
    """Call it with the number of files done and the number of all; rich is loaded only when the bar appears."""

    def __init__(self, *, quiet: bool = False, what: str = "reading") -> None:
        self.what = what
        self.wanted = not quiet and sys.stderr.isatty()
        self.started = time.monotonic()
        self.bar: Any = None
        self.task: Any = None

    def __call__(self, done: int, total: int) -> None:
        if not self.wanted:
            return
        if self.bar is None:
            if time.monotonic() - self.started < DELAY:
                return
            self._start(total)
        self.bar.update(self.task, completed=done, total=total)

    def _start(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn(t(self.what)), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self.bar = Bar(*columns, console=Console(stderr=True), transient=True)
        self.bar.start()
        self.task = self.bar.add_task(self.what, total=total)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take the bar away: something else is about to print."""
        if self.bar is not None:
            self.bar.stop()


class Transfer(Progress):
    """The same for bytes: with the rate and the time left."""

    def _start(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn
        from rich.progress import Progress as Bar

        columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        self.bar = Bar(*columns, console=Console(stderr=True), transient=True)
        self.bar.start()
        self.task = self.bar.add_task("copying", total=total)


class Waiting:
    """A line that turns while something works that cannot be counted, for a person who has already waited."""

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self.what = what
        self.timer = threading.Timer(DELAY, self._start) if not quiet and sys.stderr.isatty() else None
        self.lock = threading.Lock()
        self.status: Any = None
        self.over = False

    def _start(self) -> None:
        from rich.console import Console
        from rich.markup import escape

        with self.lock:
            if not self.over:
                self.status = Console(stderr=True).status(escape(printable(t(self.what))))
                self.status.start()

    def __enter__(self) -> Waiting:
        if self.timer is not None:
            self.timer.daemon = True
            self.timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take the line away: something else is about to print."""
        if self.timer is None:
            return
        self.timer.cancel()
        with self.lock:
            self.over = True
            if self.status is not None:
                self.status.stop()
                self.status = None
