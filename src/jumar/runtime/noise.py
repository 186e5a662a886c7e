"""Folds warnings of torch_npu that mean nothing (data/noise.toml) into one line, with a way to see them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from jumar.core.lang import t
from jumar.runtime import variables
from jumar.runtime.tell import tell
from jumar.tables.load import table

TOLD = f"warnings of torch_npu that mean nothing are left out; {variables.NOISE}=1 shows them"
_START = re.compile(rb"(?:\[rank\d+\]:)?\[W\d{4} ")
"""How torch's C++ begins a warning: the day stands behind the letter."""
_BEGUN = re.compile(rb"\[(?:r|ra|ran|rank\d*|rank\d+\]:?)?|(?:\[rank\d+\]:)?\[(?:W\d{0,4})?")
"""The same where only its first letters have come."""
_LONGEST = 4096


def is_noise(line: bytes) -> bool:
    """Is this line left out?"""
    return bool(_START.match(line)) and not variables.NOISE.read() and bool(_known().search(line))


@cache
def _known() -> re.Pattern[bytes]:
    return re.compile("|".join(row["match"] for row in table("noise.toml")["lines"]).encode())


class Fold:
    """Takes the noise out of a stream; all else passes at once, unfinished lines too."""

    def __init__(self) -> None:
        self._held = b""
        self._begins = True
        self._told = False

    def feed(self, data: bytes) -> bytes:
        """What is to be shown now."""
        lines = (self._held + data).splitlines(keepends=True)
        self._held = b""
        return b"".join(self._line(line) for line in lines)

    def end(self) -> bytes:
        """What was held back: a warning that the program did not finish."""
        held, self._held = self._held, b""
        return held

    def _line(self, line: bytes) -> bytes:
        ended = line.endswith(b"\n")
        if self._begins and not ended and _may_be_warning(line):
            self._held = line
            return b""
        noise = self._begins and is_noise(line)
        self._begins = ended
        if not noise:
            return line
        told, self._told = self._told, True
        return b"" if told or variables.QUIET.read() else f"{t(f'jumar: {TOLD}')}\n".encode()


def _may_be_warning(line: bytes) -> bool:
    return len(line) < _LONGEST and bool(_START.match(line) or _BEGUN.fullmatch(line))


@contextmanager
def folded_warnings(told: str) -> Iterator[None]:
    """Keep Python's warnings of an import to itself, and say one line in their place."""
    if variables.NOISE.read():
        yield
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    if caught and not variables.QUIET.read():
        tell(f"{told}; {variables.NOISE}=1 shows its warnings")
