"""Requirement files by line: requirements and options with their places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE = re.compile(rb"[^\r\n]*(?:\\\r?\n[^\r\n]*)*")
_NOTE = re.compile(rb"[ \t]#[^\r\n]*")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


class Line(NamedTuple):
    text: str
    start: int
    end: int
    is_option: bool
    """`-r other.txt`, `--index-url …`; else a requirement, a path or an address."""


def lines(data: bytes) -> Iterator[Line]:
    """Every line with something on it, without its comment; continued lines count as one."""
    at = 0
    while at < len(data):
        match = _LINE.match(data, at)
        assert match is not None
        start, stop = match.span()
        note = _NOTE.search(data, start, stop)
        raw = data[start : note.start() if note else stop]
        begin = start + len(raw) - len(raw.lstrip())
        end = start + len(raw.rstrip())
        if end > begin and data[begin : begin + 1] != b"#":
            yield Line(data[begin:end].decode("utf-8", "replace"), begin, end, data[begin : begin + 1] == b"-")
        at = stop + 1
        while data[at : at + 1] in (b"\n", b"\r") and data[at : at + 1]:
            at += 1


def project(text: str) -> str:
    """The project a requirement names, in its normal form (`flash-attn`), or nothing for addresses and paths."""
    match = _NAME.match(text)
    if match is None:
        return ""
    rest = text[match.end() :].lstrip()
    if rest and rest[0] not in "=<>!~[;@(, ":
        return ""
    return re.sub(r"[-_.]+", "-", match.group()).lower()
