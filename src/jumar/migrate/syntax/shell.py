"""What a shell text consists of: commands, words and assignments with their places in the whole data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from typing import NamedTuple

from jumar.core.compat import dataclass

_RUNNERS = frozenset(
    {"sudo", "env", "time", "nohup", "exec", "command", "stdbuf", "nice", "timeout", "then", "do", "else"}
)


class Word(NamedTuple):
    """One word: its raw span, and its value without quotes (expansions stay as they are written)."""

    start: int
    end: int
    text: str
    is_quoted: bool = False
    has_expansion: bool = False
    inner: tuple[int, int] | None = None
    """What stands between the quotes, when the whole word is one quoted string."""


class Assignment(NamedTuple):
    """`NAME=value`; `name_end` is where the name stops in the raw text."""

    name: str
    start: int
    name_end: int
    value: Word


class Reference(NamedTuple):
    """`$NAME` or `${NAME…}`; the span is the one of the name."""

    name: str
    start: int
    end: int


class Heredoc(NamedTuple):
    """The lines between `<<TAG` and `TAG`."""

    start: int
    end: int
    is_literal: bool


@dataclass(frozen=True, slots=True)
class Command:
    start: int
    end: int
    assignments: tuple[Assignment, ...] = ()
    words: tuple[Word, ...] = ()
    redirects: tuple[tuple[str, Word], ...] = ()
    heredocs: tuple[Heredoc, ...] = ()
    is_piped: bool = False
    """Does its output go into another command?"""
    is_array: bool = False
    """The elements of `NAME=( … )`: words without a command."""
    is_text: bool = False
    """Read from inside a quoted string that may be a command line."""

    @property
    def name(self) -> str:
        return self.words[0].text if self.words else ""


@dataclass(slots=True)
class Script:
    commands: list[Command] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)


def options(command: Command) -> Iterator[tuple[str, str, Word, int]]:
    """`--name value`, `--name=value` and `key=value` words: name without dashes, value, its word, where all starts."""
    words = command.words
    first = 0 if command.is_array or command.name.startswith("-") else 1
    for position in range(first, len(words)):
        word = words[position]
        key, equals, value = word.text.partition("=")
        name = key.lstrip("+-")
        if equals and re.fullmatch(r"[\w.\-/@]+", name):
            yield name, value, word, word.start
        elif key.startswith("-") and not equals and position + 1 < len(words):
            follows = words[position + 1]
            if not follows.text.startswith("-") or follows.is_quoted:
                yield name, follows.text, follows, word.start


def base_command(command: Command) -> tuple[str, int]:
    """The program that a command line runs, and its position: behind `sudo`, `env`, `time` and the like."""
    position = 0
    while position < len(command.words):
        text = command.words[position].text
        name = text.rpartition("/")[2]
        if name in _RUNNERS:
            position += 1
            while position < len(command.words) and re.match(r"-|\d+[smh]?$|\w+=", command.words[position].text):
                position += 1
            continue
        return name, position
    return "", position
