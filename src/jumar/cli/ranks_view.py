"""Shows the lines of all ranks with their numbers, and one live line with the throughput below them."""

from __future__ import annotations

import shutil
import sys

import click

from jumar.cli import show
from jumar.runtime import noise


class RanksView:
    """Lines to standard output; notes and, on a terminal, the live line to standard error."""

    def __init__(self, ranks: int) -> None:
        self.width = len(str(ranks - 1))
        self.terminal = sys.stderr.isatty()
        self.below = ""
        self.folded = False

    def line(self, rank: int, text: str) -> None:
        if noise.is_noise(text.encode()):
            self._fold()
            return
        self._clear()
        show.passed(f"[rank {rank:>{self.width}}] {text}")
        self._redraw()

    def _fold(self) -> None:
        if not self.folded:
            self.folded = True
            self.note(noise.TOLD)

    def note(self, text: str) -> None:
        self._clear()
        show.say(f"jumar: {text}", err=True)
        self._redraw()

    def live(self, text: str) -> None:
        if self.terminal:
            self._clear()
            self.below = text[: shutil.get_terminal_size().columns - 1]
            self._redraw()

    def close(self) -> None:
        self._clear()
        self.below = ""
        sys.stdout.flush()

    def _clear(self) -> None:
        if self.below:
            click.echo("\r\x1b[K", err=True, nl=False)

    def _redraw(self) -> None:
        if self.below:
            show.echo(self.below, err=True, nl=False)
