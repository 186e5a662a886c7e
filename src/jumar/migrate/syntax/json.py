"""JSON as entries; comments and trailing commas, which many tools allow, are passed over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from jumar.migrate.syntax.entry import ConfigEntry, Kind

# Long strings without escapes, such as pictures in notebooks, must not cost the matcher a step for each byte.
_TOKEN = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"|([{}\[\]:,])|(//[^\r\n]*|/\*.*?\*/)|([^\s{}\[\]:,"/]+|/)', re.S)


class Token(NamedTuple):
    kind: str
    """`string`, `scalar`, or the bracket itself."""
    start: int
    end: int


def tokens(data: bytes) -> Iterator[Token]:
    """Strings (span without quotes), brackets, commas, colons and bare words."""
    for match in _TOKEN.finditer(data):
        if match.group(1) is not None:
            yield Token("string", match.start(1), match.end(1))
        elif match.group(2):
            yield Token(match.group(2).decode(), match.start(), match.end())
        elif match.group(4):
            yield Token("scalar", match.start(), match.end())


def text(data: bytes, token: Token) -> tuple[str, bool]:
    """The value of a string or bare word, and whether the source spells it as it is."""
    raw = data[token.start : token.end]
    if token.kind == "string" and b"\\" in raw:
        try:
            return str(json.loads(b'"' + raw + b'"', strict=False)), False
        except ValueError:
            return raw.decode("utf-8", "replace"), False
    return raw.decode("utf-8", "replace"), True


def entries(data: bytes) -> Iterator[ConfigEntry]:
    path: list[str] = []
    spans: list[tuple[int, int]] = []
    open_brackets: list[str] = []
    wants_key = False
    last: Token | None = None
    for token in tokens(data):
        if token.kind in "{[":
            if open_brackets and open_brackets[-1] == "[":
                path.append("[]")
                spans.append((token.start, token.start))
            elif path:
                yield ConfigEntry(tuple(path), "", token.start, token.start, *spans[-1], Kind.OPEN)
            open_brackets.append(token.kind)
            wants_key = token.kind == "{"
        elif token.kind in "}]":
            if open_brackets:
                open_brackets.pop()
            if path and open_brackets:
                path.pop()
                spans.pop()
            wants_key = False
        elif token.kind == ",":
            wants_key = bool(open_brackets) and open_brackets[-1] == "{"
        elif token.kind == ":":
            if last is not None:
                path.append(text(data, last)[0])
                spans.append((last.start, last.end))
            wants_key = False
        elif wants_key:
            last = token
        else:
            value, is_exact = text(data, token)
            kind = Kind.QUOTED if token.kind == "string" else Kind.PLAIN
            if open_brackets and open_brackets[-1] == "[":
                yield ConfigEntry(
                    (*path, "[]"), value, token.start, token.end, token.start, token.start, kind, is_exact
                )
            elif path:
                yield ConfigEntry(tuple(path), value, token.start, token.end, *spans[-1], kind, is_exact)
                path.pop()
                spans.pop()
