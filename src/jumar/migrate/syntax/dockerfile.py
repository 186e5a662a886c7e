"""Dockerfiles as instructions with their places; line continuations and comments between lines are kept in mind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r|$)")
_HEAD = re.compile(rb"[ \t]*([A-Za-z]+)[ \t]+")
_HEREDOC = re.compile(rb"<<-?[\"']?([A-Za-z_][A-Za-z0-9_]*)[\"']?")


class Instruction(NamedTuple):
    name: str
    """In capitals: `FROM`, `RUN`, `ENV`."""
    start: int
    """Where the arguments start."""
    end: int


def instructions(data: bytes) -> Iterator[Instruction]:
    at = 0
    while at < len(data):
        line = _line(data, at)
        head = _HEAD.match(data, at, line)
        if head is None or data[at:line].lstrip().startswith(b"#"):
            at = line
            continue
        stop = line
        while stop < len(data) and _goes_on(data, at, stop):
            at = stop
            stop = _line(data, stop)
        for tag in _HEREDOC.findall(data[head.end() : stop]):
            stop = _heredoc_end(data, stop, tag)
        at = stop
        end = head.end() + len(data[head.end() : stop].rstrip())
        yield Instruction(head.group(1).decode().upper(), head.end(), max(end, head.end()))


def _line(data: bytes, at: int) -> int:
    match = _LINE.match(data, at)
    assert match is not None
    return match.end()


def _goes_on(data: bytes, start: int, stop: int) -> bool:
    """Does the instruction go on behind this line? Comment lines inside one do not end it."""
    line = data[start:stop].strip()
    return line.endswith(b"\\") or (line.startswith(b"#") and stop < len(data))


def _heredoc_end(data: bytes, at: int, tag: bytes) -> int:
    while at < len(data):
        stop = _line(data, at)
        if data[at:stop].strip() == tag:
            return stop
        at = stop
    return at
