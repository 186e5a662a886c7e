"""Code inside other text (a notebook cell in JSON, `python -c "…"` in a script): findings brought back to the file.

The inner text is decoded, the rules run on it, and every offset and edit is carried over to the bytes of the file.
"""

from __future__ import annotations

import dataclasses
import json
import re
from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple, Optional

from jumar.core.edit import Edit
from jumar.core.finding import Finding, Level, Safety, State
from jumar.core.source import Source
from jumar.migrate import engine, rule
from jumar.migrate.languages import python
from jumar.migrate.rule import NOT_PYTHON, Unit
from jumar.migrate.settings import Settings

Encoder = Callable[[bytes, int], Optional[bytes]]
"""Spells new inner text for an inner offset as the outer file wants it; None when that is not possible."""
_JSON_ESCAPE = re.compile(rb"\\(u[0-9A-Fa-f]{4}(?:\\u[dD][c-fC-F][0-9A-Fa-f]{2})?|.)")


class Piece(NamedTuple):
    """Inner text, the outer offset of each of its stretches, and how new text is spelled."""

    text: bytes
    inner: list[int]
    """Offsets in `text` where a stretch starts, ascending from 0."""
    outer: list[int]
    """The file's offset of each stretch."""
    encode: Encoder

    def at(self, offset: int) -> int:
        """The file's offset for an offset in the inner text."""
        stretch = bisect_right(self.inner, offset) - 1
        return self.outer[stretch] + offset - self.inner[stretch]


def literal(data: bytes, start: int, end: int, forbidden: bytes = b"") -> Piece:
    """Text that stands in the file as it is; new text must not hold a `forbidden` byte."""
    return Piece(data[start:end], [0], [start], lambda new, _: None if set(new) & set(forbidden) else new)


def decoded(
    data: bytes,
    start: int,
    end: int,
    escape: re.Pattern[bytes],
    meaning: Callable[[bytes], bytes],
    encode: Encoder,
) -> Piece:
    """Text with escapes: each match of `escape` stands for `meaning(match)`."""
    parts: list[bytes] = []
    inner, outer = [0], [start]
    length, at = 0, start
    for match in escape.finditer(data, start, end):
        plain = data[at : match.start()]
        value = meaning(match.group())
        parts += [plain, value]
        length += len(plain)
        inner.append(length)
        outer.append(match.start())
        length += len(value)
        inner.append(length)
        outer.append(match.end())
        at = match.end()
    parts.append(data[at:end])
    return Piece(b"".join(parts), inner, outer, encode)


def json_string(data: bytes, start: int, end: int) -> Piece:
    """The body of a JSON string, without its quotes."""
    return decoded(data, start, end, _JSON_ESCAPE, _json_meaning, lambda new, _: encode_json(new))


def encode_json(new: bytes) -> bytes:
    return json.dumps(new.decode(), ensure_ascii=False)[1:-1].encode()


def _json_meaning(raw: bytes) -> bytes:
    value = json.loads(b'"' + raw + b'"')
    return str(value).encode("utf-8", "replace")


def joined(pieces: list[Piece], between: bytes) -> Piece:
    """Several pieces as one text; what is written at a seam goes to the end of the piece before it."""
    parts: list[bytes] = []
    inner: list[int] = []
    outer: list[int] = []
    length = 0
    for number, piece in enumerate(pieces):
        inner += [length + offset for offset in piece.inner]
        outer += piece.outer
        parts.append(piece.text)
        length += len(piece.text)
        if between and number + 1 < len(pieces):
            inner.append(length)
            outer.append(piece.at(len(piece.text)))
            inner.append(length + 1)
            outer.append(piece.at(len(piece.text)))
            parts.append(between)
            length += len(between)
    return Piece(b"".join(parts), inner, outer, pieces[0].encode)


def lift(finding: Finding, inner: Source, outer: Source, piece: Piece, prefix: str = "") -> Finding:
    """The finding in terms of the outer file; edits that cannot be spelled there make it a case for a hand."""
    where = finding.where
    assert where is not None
    start = _offset(inner, where.line, where.col)
    end = max(start, _offset(inner, where.end_line or where.line, where.end_col or where.col))
    edits: list[Edit] = []
    for edit in finding.edits:
        new = piece.encode(edit.new, edit.start)
        first = piece.at(edit.start)
        last = first if edit.end == edit.start else piece.at(edit.end - 1) + _width(piece, edit.end - 1)
        if new is None:
            finding = dataclasses.replace(
                finding, level=Level.WARNING, state=State.HAND, safety=Safety.SHOW,
                fix="change it by hand: the quotes around it do not allow the new text",
            )  # fmt: skip
            edits = []
            break
        edits.append(Edit(first, last, new))
    message = prefix + finding.message
    return dataclasses.replace(
        finding, message=message, where=outer.where(piece.at(start), piece.at(end)), edits=tuple(edits)
    )


def _width(piece: Piece, offset: int) -> int:
    """How many bytes of the file the inner byte at `offset` stands for."""
    stretch = bisect_right(piece.inner, offset) - 1
    if stretch + 1 < len(piece.inner) and piece.inner[stretch + 1] == offset + 1:
        return piece.outer[stretch + 1] - piece.outer[stretch] - (offset - piece.inner[stretch])
    return 1


def _offset(source: Source, line: int, col: int) -> int:
    """The way back from a `Where` position to an offset."""
    start = source.starts[min(line, len(source.starts)) - 1]
    text = source.data[start:].split(b"\n", 1)[0].decode("utf-8", "replace")
    return start + len(text[: col - 1].encode())


def rules(data: bytes, settings: Settings) -> list[Unit]:
    """The Python rules that work on code which is not a file of its own."""
    known = [unit for unit in rule.active("python", settings) if not unit.owner.whole_files_only]
    return engine.select(known, data, settings)


def python_findings(piece: Piece, outer: Source, settings: Settings) -> list[Finding] | None:
    """The findings of the Python rules in a piece; None when it is not Python."""
    active = rules(piece.text, settings)
    if not active:
        return []
    inner = Source(outer.path, piece.text)
    findings = python.round_of_rules(inner, settings, active).findings
    if any(finding.id == NOT_PYTHON.id for finding in findings):
        return None
    return [lift(finding, inner, outer, piece) for finding in findings]
