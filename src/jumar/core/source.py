"""A file's bytes with its encoding, BOM, newline style and line table.

`ast` columns are UTF-8 byte offsets whatever the file's encoding is, so everything works on the UTF-8 form
without BOM (`Source.data`); `encode` gives the bytes of the file back. Ask here for offsets, never compute them.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from functools import cached_property
from typing import Protocol

from jumar.core.finding import Where

_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


class HasSpan(Protocol):
    """What `ast` gives its nodes."""

    lineno: int
    col_offset: int
    end_lineno: int | None
    end_col_offset: int | None


class UnreadableError(ValueError):
    """The bytes cannot be read as text without loss; the message says why."""


class Source:
    """The text of one file as UTF-8 bytes, and the way back to the file's own bytes."""

    __slots__ = ("__dict__", "bom", "data", "encoding", "path")

    def __init__(self, path: str, data: bytes, encoding: str = "utf-8", bom: bytes = b"") -> None:
        self.path = path
        self.data = data
        self.encoding = encoding
        self.bom = bom

    @classmethod
    def from_bytes(cls, path: str, raw: bytes, *, python: bool = False) -> Source:
        """Read `raw` as UTF-8, or as what a Python coding line says; refuses what would not survive the way back."""
        bom = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
        body = raw[len(bom) :]
        encoding = _python_encoding(body) if python else "utf-8"
        if b"\0" in body:
            raise UnreadableError("it holds NUL bytes and is not text")
        if encoding in ("utf-8", "utf-8-sig"):
            try:
                body.decode("utf-8")
            except UnicodeDecodeError as error:
                raise UnreadableError(f"byte {error.start} is not UTF-8") from None
            return cls(path, body, "utf-8", bom)
        try:
            text = body.decode(encoding)
            faithful = text.encode(encoding) == body
        except (UnicodeError, LookupError):
            raise UnreadableError(f"it cannot be read as `{encoding}`") from None
        if not faithful:
            raise UnreadableError(f"a rewrite would damage its `{encoding}` bytes")
        return cls(path, text.encode("utf-8"), encoding, bom)

    def encode(self, data: bytes) -> bytes:
        """The bytes to write for a new UTF-8 form of this file."""
        if self.encoding == "utf-8":
            return self.bom + data
        return self.bom + data.decode("utf-8").encode(self.encoding)

    @cached_property
    def newline(self) -> bytes:
        """The line end that new lines must use."""
        at = self.data.find(b"\n")
        if at < 0:
            return b"\r" if b"\r" in self.data else b"\n"
        return b"\r\n" if at and self.data[at - 1 : at] == b"\r" else b"\n"

    @cached_property
    def starts(self) -> list[int]:
        """Offset of every line's first byte, split as the Python tokenizer splits."""
        starts = [0]
        for line in self.data.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    def offset(self, line: int, col: int) -> int:
        """Offset of a 1-based line and a 0-based byte column, as `ast` counts them."""
        return self.starts[line - 1] + col

    def span(self, node: HasSpan) -> tuple[int, int]:
        """First and past-last offset of an `ast` node."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        starts = self.starts
        return (
            starts[node.lineno - 1] + node.col_offset,
            starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def text(self, node: HasSpan) -> bytes:
        start, end = self.span(node)
        return self.data[start:end]

    def line_of(self, offset: int) -> int:
        """1-based line that holds `offset`."""
        return min(bisect_right(self.starts, offset), max(len(self.starts) - 1, 1))

    def line_text(self, line: int) -> bytes:
        """A 1-based line without its line end."""
        start = self.starts[line - 1]
        end = self.starts[line] if line < len(self.starts) else len(self.data)
        return self.data[start:end].rstrip(b"\r\n")

    def where(self, start: int, end: int) -> Where:
        """A span of offsets as people count: 1-based lines and character columns."""
        line, col = self._position(start)
        end_line, end_col = self._position(end)
        return Where(self.path, line, col, end_line, end_col)

    def _position(self, offset: int) -> tuple[int, int]:
        line = self.line_of(offset)
        start = self.starts[line - 1]
        return line, len(self.data[start:offset].decode("utf-8", "replace")) + 1


def _python_encoding(body: bytes) -> str:
    """What the coding line of PEP 263 says, in the first line or in the second behind a comment."""
    first, _, rest = body[:1000].partition(b"\n")
    for line in (first, rest.partition(b"\n")[0]):
        match = _COOKIE.match(line)
        if match:
            name = match.group(1).decode("ascii", "replace")
            try:
                return codecs.lookup(name).name
            except LookupError:
                raise UnreadableError(f"unknown encoding: {name}") from None
        if line.strip() and not line.lstrip().startswith(b"#"):
            break
    return "utf-8"
