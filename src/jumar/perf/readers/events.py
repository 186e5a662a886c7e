"""Trace events as a stream: a file of any size in pieces of a few megabytes, broken places skipped and counted.

A piece ends where an event begins, which is found from the end of the buffer: `}`, a comma, `{`. A place that only
looks like that (inside a string or a nested list) leaves an unbalanced piece, which does not parse; then the next
place further back is tried.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from jumar.core.errors import UserError

CHUNK = 2 << 20
MAX_EVENT = 64 << 20
"""Bytes without a place to cut: no trace has such an event."""
MAX_UNPACKED = 16 << 30
_SPACE = b" \t\r\n"
_HEAD = 16 << 20
"""Where the list of events must begin."""
_TRIES = 20_000
"""Places looked at for one cut: hostile input has millions."""

Event = dict[str, Any]


def _parser() -> Callable[[bytes], Any]:
    try:
        import orjson
    except ImportError:
        return _slow
    return orjson.loads


def _slow(data: bytes) -> Any:
    return json.loads(data.decode("utf-8", "replace"))


class Events:
    """The events of a trace in file order, in lists; afterwards `skipped` and `truncated` say what was broken."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.skipped = 0
        """Bytes that are no events."""
        self.truncated = False
        self._parse = _parser()

    def __iter__(self) -> Iterator[list[Event]]:
        try:
            with _open(self.path) as file:
                yield from self._pieces(file)
        except OSError as error:
            raise UserError(f"cannot read `{self.path}`: {error.strerror or error}") from error

    def _pieces(self, file: IO[bytes]) -> Iterator[list[Event]]:
        reader = _Reader(file)
        buffer = self._head(reader)
        while data := reader.read():
            buffer += data
            cut = _cut(buffer, len(buffer))
            if cut is None:
                if len(buffer) > MAX_EVENT:
                    self.skipped += len(buffer)
                    buffer = b""
                continue
            yield from self._events(buffer[: cut[0]])
            buffer = buffer[cut[1] :]
        self.truncated = reader.broken
        yield from self._last(buffer)

    def _head(self, reader: _Reader) -> bytes:
        """What follows the `[` of the list of events."""
        buffer = reader.read()
        begin = buffer.removeprefix(b"\xef\xbb\xbf").lstrip(_SPACE)
        if begin.startswith(b"["):
            return begin[1:]
        while begin.startswith(b"{"):
            at = begin.find(b'"traceEvents"')
            start = begin.find(b"[", at) if at >= 0 else -1
            if start >= 0:
                return begin[start + 1 :]
            data = reader.read()
            if not data or len(begin) > _HEAD:
                break
            begin += data
        raise UserError(
            f"not a trace: `{self.path}`", "a trace is a JSON list of events, or an object with a list `traceEvents`"
        )

    def _events(self, piece: bytes) -> Iterator[list[Event]]:
        try:
            yield self._parse(b"[" + piece + b"]")
        except (ValueError, RecursionError):
            yield from self._salvage(piece)

    def _salvage(self, piece: bytes) -> Iterator[list[Event]]:
        """Whatever parses of a broken piece: halves of halves, down to single events."""
        todo = [piece]
        while todo:
            part = todo.pop()
            try:
                yield _slow(b"[" + part + b"]")
                continue
            except (ValueError, RecursionError):
                pass
            cut = _cut(part, len(part) // 2) or _cut_after(part, len(part) // 2)
            if cut is None:
                self.skipped += len(part)
            else:
                todo += [part[cut[1] :], part[: cut[0]]]

    def _last(self, buffer: bytes) -> Iterator[list[Event]]:
        """The last event, the end of the list, and the members that may follow it."""
        text = buffer.rstrip(_SPACE)
        end = len(text)
        for _ in range(64):
            end = text.rfind(b"]", 0, end)
            if end < 0:
                break
            try:
                yield self._parse(b"[" + text[:end] + b"]")
                return
            except (ValueError, RecursionError):
                continue
        if not text:
            self.truncated = True
            return
        before = self.skipped
        yield from self._salvage(text.rstrip(b","))
        self.truncated = self.truncated or self.skipped > before or not text.endswith(b"]")


class _Reader:
    """Chunks of a file; a packed one that breaks off ends early, one that unpacks without end is refused."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._total = 0
        self.broken = False

    def read(self) -> bytes:
        try:
            data = self._file.read(CHUNK)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            self.broken = True
            return b""
        self._total += len(data)
        if self._total > MAX_UNPACKED:
            raise UserError(f"the trace is larger than {MAX_UNPACKED >> 30} GiB", "profile fewer steps")
        return data


def _open(path: Path) -> IO[bytes]:
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return cast(IO[bytes], gzip.open(path, "rb")) if packed else open(path, "rb")


def _cut(buffer: bytes, end: int) -> tuple[int, int] | None:
    """The last place before `end` where an event ends and another begins: end of the one, begin of the other."""
    at = end
    for _ in range(_TRIES):
        at = buffer.rfind(b"{", 0, at)
        if at <= 0:
            return None
        if found := _between(buffer, at):
            return found, at
    return None


def _cut_after(buffer: bytes, begin: int) -> tuple[int, int] | None:
    at = begin
    for _ in range(_TRIES):
        at = buffer.find(b"{", at + 1)
        if at <= 0:
            return None
        if found := _between(buffer, at):
            return found, at
    return None


def _between(buffer: bytes, at: int) -> int:
    """Where the event before the one at `at` ends; 0 where there is none."""
    comma = at - 1
    while comma > 0 and buffer[comma] in _SPACE:
        comma -= 1
    if buffer[comma] != 0x2C:
        return 0
    close = comma - 1
    while close > 0 and buffer[close] in _SPACE:
        close -= 1
    return close + 1 if buffer[close] == 0x7D else 0
