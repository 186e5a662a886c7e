"""The logs of all ranks as one stream of lines, and the throughput that a script prints in them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

RATE = re.compile(
    r"(\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*"
    r"((?:samples|sample|images|image|imgs|img|tokens|token|tok|examples|sequences|seqs|frames|iters|iter|it|steps|step)"
    r"\s*/\s*s(?:ec(?:ond)?)?\b)|\b(fps|throughput)\b\W{0,3}(\d[\d,]*(?:\.\d+)?)",
    re.IGNORECASE,
)
PIECE = 1 << 20


class Line(NamedTuple):
    rank: int
    text: str


class Tail:
    """Reads what the ranks wrote since the last time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.at: dict[int, int] = {}
        self.rest: dict[int, bytes] = {}

    def lines(self, *, last: bool = False) -> Iterator[Line]:
        """The new complete lines; with `last`, also an unfinished one."""
        for path in sorted(self.folder.glob("rank_*.log"), key=number):
            rank = number(path)
            yield from (Line(rank, text) for text in self._new(path, rank, last))

    def _new(self, path: Path, rank: int, last: bool) -> Iterator[str]:
        with open(path, "rb") as file:
            file.seek(self.at.get(rank, 0))
            while data := file.read(PIECE):
                self.at[rank] = file.tell()
                *whole, rest = (self.rest.get(rank, b"") + data).split(b"\n")
                self.rest[rank] = rest
                yield from map(_visible, whole)
        if last and self.rest.get(rank):
            yield _visible(self.rest.pop(rank))


def number(path: Path) -> int:
    return int(path.stem.rpartition("_")[2])


def _visible(raw: bytes) -> str:
    """A line as a terminal shows it in the end: a progress bar redraws itself after each carriage return."""
    return raw.rstrip(b"\r").rpartition(b"\r")[2].decode(errors="replace")


def rate(text: str) -> str | None:
    """The throughput in a line, as the line has it."""
    found = RATE.search(text)
    if found is None:
        return None
    return f"{found[1]} {re.sub(r'[ ]', '', found[2])}" if found[1] else f"{found[3]} {found[4]}"


def tail(path: Path, count: int = 20) -> tuple[str, ...]:
    """The last lines of a log."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - 64 * 1024))
            return tuple(_visible(line) for line in file.read().rstrip(b"\n").split(b"\n")[-count:])
    except OSError:
        return ()
