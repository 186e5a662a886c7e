"""What every reader here raises, and the `name : value` lines that most vendor queries print."""

from __future__ import annotations

import re

_PAIR = re.compile(r"^\s*(?P<name>[A-Za-z][^:]*?)\s*:\s*(?P<value>.*?)\s*$")


class UnknownLayout(Exception):
    """The text is not in a form that is known: says which line of it, so that nobody gets a wrong number."""


def pairs(text: str) -> list[tuple[str, str]]:
    """`name : value` lines in order; other lines (prompts, empty ones) are left out."""
    found = []
    for line in text.splitlines():
        match = None if line.lstrip().startswith(("$", "#")) else _PAIR.match(line)
        if match:
            found.append((match["name"], match["value"]))
    return found


def whole(text: str, what: str) -> int:
    """A number that must be one."""
    if not re.fullmatch(r"\d+", text):
        raise UnknownLayout(f"{what} should be a number: `{text}`")
    return int(text)
