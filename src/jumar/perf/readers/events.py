"""Trace events as a stream: a file of any size in pieces of a few megabytes, broken places skipped and counted.

A piece ends where an event begins, which is found from the end of the buffer: `}`, a comma, `{`. A place that only
looks like that (inside a string or a nested list) leaves an unbalanced piece, which does not parse; then places further
back are tried. Where none parses, events are decoded one by one, and what does not decode is passed over.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Union

from jumar.core import read
from jumar.core.errors import UserError, cannot

CHUNK = 2 << 20
MAX_EVENT = 64 << 20
"""Bytes without a place to cut: no trace has such an event."""
MAX_UNPACKED = 16 << 30
_SPACE = b" \t\r\n"
_HERE = re.compile(r"[\s,]*(?=\{)")
_NEXT = re.compile(r"\}\s*,\s*(?=\{)")
_BROKEN = re.compile("[\udc80-\udcff]")
_DECODER = json.JSONDecoder()
_CUTS = 8
_LOOKS = 2_000
"""Braces looked at for one cut."""
_HEAD = 16 << 20
"""Where the list of events must begin."""
_BEGIN = 1 << 16
_TRIES = 100_000
"""Places looked at in one piece: hostile input has millions."""

Event = dict[str, Any]
File = Union[gzip.GzipFile, io.BufferedReader]


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
            read.check(self.path)
            with _open(self.path) as file:
                yield from self._pieces(file)
        except OSError as error:
            raise cannot(f"read `{self.path}`", error) from error

    def _pieces(self, file: File) -> Iterator[list[Event]]:
        reader = _Reader(file, self.path.stat().st_size)
        buffer = self._head(reader)
        patience = 2 * CHUNK
        while data := reader.read():
            buffer = (buffer + data).lstrip(_SPACE)
            piece, rest = self._whole(buffer)
            if piece is None and len(buffer) >= patience:
                piece, rest = self._one_by_one(buffer)
                patience = max(2 * CHUNK, 2 * len(rest))
            if piece:
                yield piece
            buffer = rest
            if len(buffer) > MAX_EVENT:
                self.skipped += len(buffer)
                buffer = b""
        self.truncated = reader.broken
        yield self._last(buffer)

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

    def _whole(self, buffer: bytes) -> tuple[list[Event] | None, bytes]:
        """All events but the last one, parsed at once, and what is left; None where that does not work."""
        end = len(buffer)
        for _ in range(_CUTS):
            cut = _cut(buffer, end)
            if cut is None:
                break
            try:
                return self._parse(b"[" + buffer[: cut[0]] + b"]"), buffer[cut[1] :]
            except (ValueError, RecursionError):
                end = cut[0]
        return None, buffer

    def _one_by_one(self, buffer: bytes) -> tuple[list[Event], bytes]:
        """Every event that decodes, and what follows the last one: it may be the begin of the next."""
        text = buffer.decode("utf-8", "surrogateescape")
        found: list[Event] = []
        done, bad, at = 0, -1, _start(text, 0)
        for _ in range(_TRIES):
            if at < 0:
                break
            event, end = _decode(text, at)
            if event is not None:
                if bad >= 0:
                    self.skipped += at - bad
                found.append(event)
                done, bad, at = end, -1, _start(text, end)
            else:
                bad = at if bad < 0 else bad
                after = _NEXT.search(text, at + 1)
                at = after.end() if after else -1
        rest = text[bad if bad >= 0 else done :]
        return found, rest.encode("utf-8", "surrogateescape")

    def _last(self, buffer: bytes) -> list[Event]:
        """The last event, the end of the list, and the members that may follow it."""
        text = buffer.rstrip(_SPACE)
        end = len(text)
        for _ in range(_CUTS):
            end = text.rfind(b"]", 0, end)
            if end < 0:
                break
            try:
                found: list[Event] = self._parse(b"[" + text[:end] + b"]")
                return found
            except (ValueError, RecursionError):
                continue
        found, rest = self._one_by_one(text)
        whole = rest.lstrip(_SPACE + b",").startswith(b"]")
        self.truncated = self.truncated or not whole
        self.skipped += 0 if whole else len(rest)
        return found


def head(path: Path) -> bytes:
    """The begin of a file, unpacked; empty where it cannot be had."""
    try:
        with _open(path) as file:
            return file.read1(_BEGIN)
    except (OSError, EOFError, zlib.error):
        return b""


def is_trace(path: Path) -> bool:
    begin = head(path)
    return b'"traceEvents"' in begin or (begin.lstrip(_SPACE).startswith(b"[") and b'"ph"' in begin)


def _decode(text: str, at: int) -> tuple[Event | None, int]:
    """The event that begins here and where it ends; None where none does."""
    try:
        event, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at
    if not isinstance(event, dict) or "ph" not in event:
        return None, at
    part = text[at:end]
    if not part.isascii() and _BROKEN.search(part):
        event = json.loads(part.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    return event, end


def _start(text: str, at: int) -> int:
    """Where the next event begins: here, or where one ends and another begins."""
    here = _HERE.match(text, at)
    if here:
        return here.end()
    after = _NEXT.search(text, at)
    return after.end() if after else -1


class _Reader:
    """Chunks of a file; a packed one that breaks off ends early, one that unpacks without end is refused."""

    def __init__(self, file: File, size: int) -> None:
        self._file = file
        self._size = size
        self._total = 0
        self.broken = False

    def read(self) -> bytes:
        try:
            data = self._file.read1(CHUNK)  # `read` loses what comes before a broken end
        except (EOFError, zlib.error, gzip.BadGzipFile):
            self.broken = True
            return b""
        self._total += len(data)
        if read.is_bomb(self._size, self._total):
            raise UserError(f"the trace unpacks to more than {read.RATIO} times its size", "name a trace of a profiler")
        if self._total > MAX_UNPACKED:
            raise UserError(f"the trace is larger than {MAX_UNPACKED >> 30} GiB", "profile fewer steps")
        return data


def _open(path: Path) -> File:
    with read.opened(path) as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if packed else open(path, "rb")


def _cut(buffer: bytes, end: int) -> tuple[int, int] | None:
    """The last place before `end` where an event ends and another begins: end of the one, begin of the other."""
    at = end
    for _ in range(_LOOKS):
        at = buffer.rfind(b"{", 0, at)
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
