"""Makefiles: variables and recipe stretches with their places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r|$)")
_VARIABLE = re.compile(rb"[ ]*(?:(?:export|override|private)[ \t]+)*([A-Za-z_][\w.\-]*)[ \t]*(?::{0,3}|\?|\+|!)=[ \t]*")


class Part(NamedTuple):
    """A variable (`name` and the span of its value), a recipe line, or another line (both with an empty name)."""

    kind: str
    """`variable`, `recipe` or `line`."""
    name: str
    name_start: int
    start: int
    end: int


def parts(data: bytes) -> Iterator[Part]:
    at = 0
    while at < len(data):
        stop = _line(data, at)
        while data[at:stop].rstrip(b"\r\n").endswith(b"\\") and stop < len(data):
            stop = _line(data, stop)
        text = data[at:stop]
        end = at + len(text.rstrip())
        if text.startswith(b"\t"):
            start = at + len(text) - len(text.lstrip(b"\t @-+"))
            if end > start and data[start : start + 1] != b"#":
                yield Part("recipe", "", start, start, end)
        elif text.strip() and not text.lstrip().startswith(b"#"):
            variable = _VARIABLE.match(data, at, end)
            note = re.compile(rb"[ \t]#").search(data, at, end)
            end = at + len(data[at : note.start() if note else end].rstrip())
            if variable and variable.end() <= end:
                yield Part("variable", variable.group(1).decode(), variable.start(1), variable.end(), end)
            else:
                yield Part("line", "", at, at, end)
        at = stop


def _line(data: bytes, at: int) -> int:
    match = _LINE.match(data, at)
    assert match is not None
    return match.end()
