"""The pieces of string literals: needed because `ast` gives the value of a string, not the position of its parts.

Before Python 3.12 the nodes inside an f-string carry wrong positions; `relocate` puts them right.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from jumar.core.compat import zip
from jumar.core.source import Source

_OPEN = re.compile(rb"([A-Za-z]{0,2})('''|\"\"\"|'|\")")
_PREFIX = re.compile(rb"(?<![\w])[A-Za-z]{1,2}$")
_GAP = re.compile(rb"(?:[ \t\f]|\\\r?\n|\\\r|\r\n?|\n|#[^\r\n]*)*")


class Piece(NamedTuple):
    """One literal of an implicit concatenation: where its body stands in the source."""

    prefix: str
    quote: bytes
    start: int
    end: int

    @property
    def is_format(self) -> bool:
        return "f" in self.prefix


class Segment(NamedTuple):
    """A stretch of a literal: plain text, or the expression of a replacement field."""

    is_text: bool
    start: int
    end: int


def pieces(source: Source, node: ast.Constant | ast.JoinedStr) -> list[Piece] | None:
    """The literals that make up a string node, or None when the source does not look as expected."""
    start, end = source.span(node)
    data = source.data
    found: list[Piece] = []
    at = start
    while at < end:
        match = _OPEN.match(data, at, end)
        if match is None:
            return None
        prefix, quote = match.group(1).decode().lower(), match.group(2)
        stop = _close(data, match.end(), end, quote, is_format="f" in prefix)
        if stop is None:
            return None
        found.append(Piece(prefix, quote, match.end(), stop))
        gap = _GAP.match(data, stop + len(quote), end)
        at = gap.end() if gap else stop + len(quote)
    return found or None


def _close(data: bytes, at: int, end: int, quote: bytes, *, is_format: bool) -> int | None:
    """Where the literal ends; the fields of an f-string may hold the same quotes (Python 3.12)."""
    if is_format:
        found = _scan_text(data, at, end, [], nested=False, quote=quote)
        return found if 0 <= found < end else None
    while at < end:
        if data[at : at + 1] == b"\\":
            at += 2
        elif data.startswith(quote, at):
            return at
        else:
            at += 1
    return None


def segments(source: Source, piece: Piece) -> list[Segment] | None:
    """Text and expression stretches of one literal, in order; format specs count as text."""
    if not piece.is_format:
        return [Segment(True, piece.start, piece.end)]
    found: list[Segment] = []
    at = _scan_text(source.data, piece.start, piece.end, found, nested=False)
    return found if at == piece.end else None


def _scan_text(data: bytes, at: int, end: int, found: list[Segment], *, nested: bool, quote: bytes = b"") -> int:
    """Scan text up to `quote`, up to the brace that ends a format spec (`nested`), or to the end; -1 if it breaks."""
    start = at
    while at < end:
        char = data[at : at + 1]
        if quote and data.startswith(quote, at):
            break
        if char == b"{" and data[at + 1 : at + 2] == b"{" and not nested:
            at += 2
        elif char == b"{":
            if at > start:
                found.append(Segment(True, start, at))
            at = start = _scan_field(data, at + 1, end, found)
            if at < 0:
                return -1
        elif char == b"}" and nested:
            break
        elif char == b"}" and data[at + 1 : at + 2] == b"}":
            at += 2
        elif char == b"\\" and data[at + 1 : at + 3] == b"N{":
            at = data.find(b"}", at) + 1 or end
        elif char == b"\\" and data[at + 1 : at + 2] not in (b"{", b"}"):
            at += 2
        else:
            at += 1
    if at > start:
        found.append(Segment(True, start, at))
    return at


def _scan_field(data: bytes, at: int, end: int, found: list[Segment]) -> int:
    """Scan `expression!r:spec}` behind an opening brace; returns the offset behind the closing one, or -1."""
    start, depth = at, 0
    while at < end:
        char = data[at : at + 1]
        if char in (b"'", b'"'):
            at = _skip_string(data, at, end)
            if at < 0:
                return -1
            continue
        if char in (b"(", b"[", b"{"):
            depth += 1
        elif char == b"}" and depth == 0:
            found.append(Segment(False, start, _trim(data, start, at)))
            return at + 1
        elif char in (b")", b"]", b"}"):
            depth -= 1
        elif depth == 0 and char == b":":
            found.append(Segment(False, start, _trim(data, start, at)))
            at = _scan_text(data, at + 1, end, found, nested=True)
            return at + 1 if at >= 0 and data[at : at + 1] == b"}" else -1
        at += 1
    return -1


def _skip_string(data: bytes, at: int, end: int) -> int:
    """The offset behind a string inside a field, or -1; its prefix stands before `at`."""
    char = data[at : at + 1]
    quote = char * 3 if data.startswith(char * 3, at) else char
    prefix = _PREFIX.search(data, max(at - 3, 0), at)
    is_format = prefix is not None and b"f" in prefix.group().lower()
    stop = _close(data, at + len(quote), end, quote, is_format=is_format)
    return -1 if stop is None else stop + len(quote)


_CONVERSION = re.compile(rb"(?:(?<![=!<>])=\s*)?(?:![rsa])?\s*$")


def _trim(data: bytes, start: int, end: int) -> int:
    """The end of the expression without `=` and `!r`."""
    match = _CONVERSION.search(data[start:end])
    return start + match.start() if match else end


def relocate(source: Source, strings: list[ast.JoinedStr]) -> set[ast.AST]:
    """Give nodes inside f-strings their true positions; returns the nodes for which that was not possible."""
    lost: set[ast.AST] = set()
    specs = {id(field.format_spec) for string in strings for field in _fields(string)}
    for string in strings:
        if id(string) in specs:
            continue
        fields = list(_fields(string))
        if not fields:
            continue
        found = pieces(source, string)
        expressions: list[Segment] = []
        for piece in found or ():
            expressions += [part for part in segments(source, piece) or () if not part.is_text]
        if len(expressions) != len(fields):
            lost.update(inner for field in fields for inner in ast.walk(field))
            continue
        for field, part in zip(fields, expressions, strict=True):
            if not _place(source, field.value, part):
                lost.update(ast.walk(field))
    return lost


def _fields(string: ast.JoinedStr) -> Iterator[ast.FormattedValue]:
    """Replacement fields in source order, those inside format specs after the one they belong to."""
    for value in string.values:
        if isinstance(value, ast.FormattedValue):
            yield value
            if isinstance(value.format_spec, ast.JoinedStr):
                yield from _fields(value.format_spec)


def _place(source: Source, node: ast.expr, part: Segment) -> bool:
    text = source.data[part.start : part.end]
    try:
        fresh = ast.parse(b"(" + text + b")", mode="eval").body
    except (SyntaxError, ValueError):
        return False
    inner = Source(source.path, b"(" + text + b")")
    pairs = list(zip(ast.walk(node), ast.walk(fresh)))
    if any(type(old) is not type(new) for old, new in pairs):
        return False
    for old, new in pairs:
        if not hasattr(new, "lineno"):
            continue
        first, last = inner.span(new)  # type: ignore[arg-type]
        for offset, line_field, col_field in (
            (part.start + first - 1, "lineno", "col_offset"),
            (part.start + last - 1, "end_lineno", "end_col_offset"),
        ):
            line = source.line_of(offset)
            setattr(old, line_field, line)
            setattr(old, col_field, offset - source.starts[line - 1])
    return True


NEEDS_RELOCATION = sys.version_info < (3, 12)
