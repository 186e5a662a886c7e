"""YAML as entries, read by lines and indents; good for the files people write by hand, never for loading.

Not understood: complex keys (`? `) and plain scalars over several lines (their further lines come as text of the
same key). What is not understood yields no entry or a plain one, never a wrong place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.migrate.syntax.entry import ConfigEntry, Kind

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r|$)")
_KEY = re.compile(
    rb"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|(?:[^\s#'"{}\[\],&*!|>%@`-]|-(?=[^\s:#]))[^\r\n#:]*?(?::(?=\S)[^\r\n#:]*?)*)"""
    rb"""[ \t]*:(?=[ \t\r\n]|$)"""
)
_DASH = re.compile(rb"-(?=[ \t\r\n]|$)[ \t]*")
_PROPERTY = re.compile(rb"(?:[&!][^\s,\[\]{}]*[ \t]+)+")
_BLOCK = re.compile(rb"[|>][-+0-9]*[ \t]*(?:#[^\r\n]*)?(?=\r|\n|$)")
_NOTE = re.compile(rb"[ \t]#")
_FLOW_BLANK = re.compile(rb"\s+(?:#[^\r\n]*)?")
_FLOW_COLON = re.compile(rb"[ \t]*:(?=[\s,{}\[\]]|$)")
_FLOW_PLAIN = re.compile(rb"(?:[^\s,\[\]{}:#]|:(?=[^\s,\[\]{}])|(?<=\S)#|[ \t]+(?=[^\s,\[\]{}:#]))+")


def entries(data: bytes) -> Iterator[ConfigEntry]:
    """Every scalar with its keys, by place."""
    return _Reader(data).read()


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.stack: list[tuple[int, str, tuple[int, int]]] = []
        """Open keys: column, key, span of the key."""

    def read(self) -> Iterator[ConfigEntry]:
        data = self.data
        while self.at < len(data):
            match = _LINE.match(data, self.at)
            assert match is not None
            start, end = match.span()
            if end == start:
                break
            stripped = data[start:end].lstrip(b" \t")
            column = end - start - len(stripped)
            self.at = end
            if not stripped.strip() or stripped.startswith(b"#") or data[start : start + 3] in (b"---", b"..."):
                if data[start : start + 3] == b"---":
                    self.stack.clear()
                continue
            yield from self._line(start + column, column, end)

    def _line(self, at: int, column: int, end: int) -> Iterator[ConfigEntry]:
        """One line from its first character on: dashes, a key, a value."""
        data = self.data
        is_item = False
        while dash := _DASH.match(data, at, end):
            self._leave(column, keep_equal_key=not is_item)
            self.stack.append((column, "[]", (at, at)))
            column += dash.end() - at
            at = dash.end()
            is_item = True
        key = _KEY.match(data, at, end)
        if key:
            self._leave(column)
            name = _unquoted(key.group(1))
            self.stack.append((column, name, key.span(1)))
            at = key.end()
            while at < end and data[at : at + 1] in (b" ", b"\t"):
                at += 1
        elif not is_item:
            yield from self._text(at, end, column)
            return
        yield from self._value(at, end)

    def _leave(self, column: int, keep_equal_key: bool = False) -> None:
        while self.stack and self.stack[-1][0] >= column:
            if keep_equal_key and self.stack[-1][0] == column and self.stack[-1][1] != "[]":
                break
            self.stack.pop()

    def _path(self) -> tuple[str, ...]:
        return tuple(key for _, key, _ in self.stack)

    def _value(self, at: int, end: int) -> Iterator[ConfigEntry]:
        data = self.data
        prefix = _PROPERTY.match(data, at, end)
        if prefix:
            at = prefix.end()
        rest = data[at:end].strip()
        span = self.stack[-1][2] if self.stack else (at, at)
        if not rest or rest.startswith(b"#") or (rest[:1] in b"&!" and b" " not in rest):
            yield ConfigEntry(self._path(), "", at, at, *span, Kind.OPEN)
        elif rest[:1] in (b"{", b"["):
            yield ConfigEntry(self._path(), "", at, at, *span, Kind.OPEN)
            yield from self._flow(at)
        elif rest[:1] in (b'"', b"'"):
            yield self._quoted(at, self._path(), span)
            self._skip_line()
        elif _BLOCK.match(data, at, end):
            yield self._block(end)
        else:
            stop = _plain_end(data, at, end)
            value = data[at:stop].decode("utf-8", "replace")
            yield ConfigEntry(self._path(), value, at, stop, *span, Kind.PLAIN)

    def _text(self, at: int, end: int, column: int) -> Iterator[ConfigEntry]:
        """A line that belongs to the scalar before it, or a document that is one scalar or one flow collection."""
        if self.data[at : at + 1] in (b"{", b"["):
            yield from self._flow(at)
            return
        stop = _plain_end(self.data, at, end)
        if stop > at:
            value = self.data[at:stop].decode("utf-8", "replace")
            yield ConfigEntry(self._path(), value, at, stop, at, at, Kind.BLOCK)

    def _quoted(self, at: int, path: tuple[str, ...], span: tuple[int, int]) -> ConfigEntry:
        """A quoted scalar from its opening quote on, over several lines if need be; moves behind it."""
        stop = _quote_end(self.data, at)
        raw = self.data[at + 1 : stop]
        self.at = min(stop + 1, len(self.data))
        is_exact = b"\\" not in raw and b"''" not in raw and b"\n" not in raw
        return ConfigEntry(path, raw.decode("utf-8", "replace"), at + 1, stop, *span, Kind.QUOTED, is_exact)

    def _skip_line(self) -> None:
        match = _LINE.match(self.data, self.at)
        assert match is not None
        self.at = match.end()

    def _block(self, body: int) -> ConfigEntry:
        """The lines of `|` or `>`: all that are blank or further in than the key."""
        columns = [column for column, key, _ in self.stack if key != "[]"]
        outer = self.stack[-1][0] if self.stack and self.stack[-1][1] == "[]" else (columns[-1] if columns else -1)
        at = body
        while at < len(self.data):
            match = _LINE.match(self.data, at)
            assert match is not None
            line = match.group()
            if not line:
                break
            if line.strip() and len(line) - len(line.lstrip(b" ")) <= outer:
                break
            at = match.end()
        self.at = at
        value = self.data[body:at].decode("utf-8", "replace")
        return ConfigEntry(self._path(), value, body, at, *self.stack[-1][2], Kind.BLOCK)

    def _flow(self, at: int) -> Iterator[ConfigEntry]:
        """`{a: b}` and `[a, b]`, over several lines if need be; moves behind the line of the closing bracket."""
        data, base = self.data, self._path()
        keys: list[tuple[str, tuple[int, int]]] = []
        opened: list[tuple[bytes, int]] = []
        """Open brackets, with the number of keys outside each."""
        while at < len(data):
            char = data[at : at + 1]
            skipped = _FLOW_BLANK.match(data, at)
            if skipped:
                at = skipped.end()
            elif char in (b"{", b"["):
                if opened and opened[-1][0] == b"[":
                    keys.append(("[]", (at, at)))
                opened.append((char, len(keys)))
                at += 1
            elif char in (b"}", b"]"):
                opened.pop()
                at += 1
                if not opened:
                    break
                del keys[opened[-1][1] :]
            elif char == b",":
                at += 1
                del keys[opened[-1][1] :]
            else:
                start, stop, kind = self._flow_scalar(at)
                raw = data[start:stop].decode("utf-8", "replace")
                at = min(stop + (kind is Kind.QUOTED), len(data))
                colon = _FLOW_COLON.match(data, at)
                path = (*base, *(key for key, _ in keys))
                is_exact = kind is Kind.PLAIN or not ("\\" in raw or "\n" in raw or "''" in raw)
                if colon and opened[-1][0] == b"{" and len(keys) == opened[-1][1]:
                    keys.append((raw, (start, stop)))
                    at = colon.end()
                elif opened[-1][0] == b"[":
                    yield ConfigEntry((*path, "[]"), raw, start, stop, start, start, kind, is_exact)
                elif len(keys) > opened[-1][1]:
                    yield ConfigEntry(path, raw, start, stop, *keys[-1][1], kind, is_exact)
        self.at = at
        self._skip_line()

    def _flow_scalar(self, at: int) -> tuple[int, int, Kind]:
        data = self.data
        if data[at : at + 1] in (b'"', b"'"):
            return at + 1, _quote_end(data, at), Kind.QUOTED
        match = _FLOW_PLAIN.match(data, at)
        return at, match.end() if match else at + 1, Kind.PLAIN


def _quote_end(data: bytes, at: int) -> int:
    """Offset of the quote that closes the one at `at`, or the end of the data."""
    quote = data[at : at + 1]
    at += 1
    while at < len(data):
        char = data[at : at + 1]
        if char == b"\\" and quote == b'"':
            at += 2
        elif char == quote:
            if quote == b"'" and data[at + 1 : at + 2] == b"'":
                at += 2
                continue
            return at
        else:
            at += 1
    return len(data)


def _plain_end(data: bytes, at: int, end: int) -> int:
    comment = _NOTE.search(data, at, end)
    stop = comment.start() if comment else end
    return at + len(data[at:stop].rstrip())


def _unquoted(raw: bytes) -> str:
    if raw[:1] in (b'"', b"'") and raw[-1:] == raw[:1] and len(raw) >= 2:
        raw = raw[1:-1]
    return raw.decode("utf-8", "replace")
