"""TOML as entries, with strings, arrays and inline tables in place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.migrate.syntax.entry import ConfigEntry, Kind

_BLANK = re.compile(rb"(?:[ \t\r\n]|#[^\r\n]*)+")
_HEADER = re.compile(rb"\[\[?([^\[\]\r\n]*)\]\]?")
_PART = re.compile(rb"""[ \t]*("(?:[^"\\\r\n]|\\.)*"|'[^'\r\n]*'|[A-Za-z0-9_-]+)[ \t]*""")
_STRING = re.compile(rb'"""(.*?)"""|\'\'\'(.*?)\'\'\'|"((?:[^"\\\r\n]|\\.)*)"|\'([^\'\r\n]*)\'', re.S)
_BARE = re.compile(rb"[^\s,\[\]{}#=\"']+")
_LINE_END = re.compile(rb"[^\r\n]*")


def entries(data: bytes) -> Iterator[ConfigEntry]:
    """Every scalar with its keys, by place; a line that is no TOML is passed over."""
    return _Reader(data).read()


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def read(self) -> Iterator[ConfigEntry]:
        table: tuple[str, ...] = ()
        while self._blank() < len(self.data):
            header = _HEADER.match(self.data, self.at)
            if header:
                table = tuple(_unquoted(part) for part in _parts(header.group(1)))
                self.at = header.end()
                yield ConfigEntry(table, "", self.at, self.at, *header.span(1), Kind.OPEN)
                continue
            start = self.at
            pair = self._key()
            if pair is None:
                match = _LINE_END.match(self.data, start)
                self.at = max(match.end() if match else start, start + 1)
                continue
            key, span = pair
            yield from self._value((*table, *key), span)

    def _blank(self) -> int:
        match = _BLANK.match(self.data, self.at)
        if match:
            self.at = match.end()
        return self.at

    def _key(self) -> tuple[tuple[str, ...], tuple[int, int]] | None:
        """`a.b =` from here; moves behind the `=`."""
        at, parts, span = self.at, [], (self.at, self.at)
        while match := _PART.match(self.data, at):
            parts.append(_unquoted(match.group(1)))
            span = match.span(1)
            at = match.end()
            if self.data[at : at + 1] == b"=":
                self.at = at + 1
                return tuple(parts), span
            if self.data[at : at + 1] != b".":
                break
            at += 1
        return None

    def _value(self, path: tuple[str, ...], span: tuple[int, int]) -> Iterator[ConfigEntry]:
        self._blank()
        char = self.data[self.at : self.at + 1]
        string = _STRING.match(self.data, self.at)
        if string:
            group = string.lastindex or 0
            start, end = string.span(group)
            raw = string.group(group)
            self.at = string.end()
            kind = Kind.BLOCK if group in (1, 2) else Kind.QUOTED
            is_exact = b"\\" not in raw or group in (2, 4)
            yield ConfigEntry(path, raw.decode("utf-8", "replace"), start, end, *span, kind, is_exact)
        elif char == b"[":
            yield ConfigEntry(path, "", self.at, self.at, *span, Kind.OPEN)
            self.at += 1
            while self._blank() < len(self.data) and self.data[self.at : self.at + 1] != b"]":
                before = self.at
                if self.data[self.at : self.at + 1] == b",":
                    self.at += 1
                else:
                    yield from self._value((*path, "[]"), (self.at, self.at))
                self.at = max(self.at, before + 1)
            self.at += 1
        elif char == b"{":
            yield ConfigEntry(path, "", self.at, self.at, *span, Kind.OPEN)
            self.at += 1
            while self._blank() < len(self.data) and self.data[self.at : self.at + 1] != b"}":
                pair = None if self.data[self.at : self.at + 1] == b"," else self._key()
                if pair is None:
                    self.at += 1
                else:
                    yield from self._value((*path, *pair[0]), pair[1])
            self.at += 1
        else:
            bare = _BARE.match(self.data, self.at)
            if bare:
                self.at = bare.end()
                yield ConfigEntry(path, bare.group().decode("utf-8", "replace"), *bare.span(), *span, Kind.PLAIN)


def _parts(raw: bytes) -> list[bytes]:
    return [match.group(1) for match in re.finditer(rb"""("[^"]*"|'[^']*'|[A-Za-z0-9_-]+)""", raw)]


def _unquoted(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").strip("\"'")
