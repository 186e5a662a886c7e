"""The values that a program looks at though nobody computed them: zeros, or what the user gave for that line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from jumar.core.errors import UserError
from jumar.emulate.dry import places
from jumar.runtime import variables

PATIENCE = 20_000
"""Looks of one line within one step: more than that is a loop that waits for a value."""


class Looks:
    """How often each line looked at what, and how it was answered."""

    def __init__(self, given: Mapping[str, float]) -> None:
        self.given = given
        self.counts: dict[tuple[str, str, str], int] = {}
        self.answers: dict[tuple[str, str, str], float] = {}
        self._in_step: dict[str, int] = {}

    def next_step(self) -> None:
        self._in_step.clear()

    def ask(self, operation: str, kind: str, place: str) -> float | None:
        """The value; None for a line that has asked too often."""
        key = place, operation, kind
        self.counts[key] = self.counts.get(key, 0) + 1
        self._in_step[place] = self._in_step.get(place, 0) + 1
        if self._in_step[place] > PATIENCE:
            return None
        self.answers[key] = self._answer(place)
        return self.answers[key]

    def _answer(self, place: str) -> float:
        for known, value in self.given.items():
            if place == known or place.endswith(os.sep + known):
                return value
        return 0.0


def parse(text: str) -> dict[str, float]:
    """`train.py:12=0.5;eval.py:3=128`."""
    found = {}
    for item in filter(None, text.split(";")):
        place, equals, value = item.rpartition("=")
        try:
            found[place.strip()] = float(value)
        except ValueError:
            equals = ""
        name, colon, line = place.rpartition(":")
        if not (equals and name and colon and line.strip().isdecimal()):
            raise UserError(f"`--value {item}` names no value of a line", "write it as `--value train.py:42=0.5`")
    return found


_LOOKS: list[Looks] = []


def looks() -> Looks:
    if not _LOOKS:
        _LOOKS.append(Looks(parse(variables.DRY_VALUES.read())))
    return _LOOKS[0]


def look(operation: bytes, kind: bytes, _: int, value: Any) -> int:
    """Called by the kernels: 0, or how often the line has asked in vain."""
    try:
        answer = looks().ask(operation.decode(), kind.decode(), places.here())
    except Exception:  # nothing may travel through the C caller
        return 0
    if answer is None:
        return PATIENCE
    value[0] = answer
    return 0
