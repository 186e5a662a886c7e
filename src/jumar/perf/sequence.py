"""The operators of a thread in order, as words that patterns are matched against.

Views, casts and allocations are left out; inside an operator that counts, nothing else does. Where the recorder wrote
which tensors an operator read, a match must also be connected: each operator reads what an earlier one of it wrote.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from jumar.perf.facts import Facts
from jumar.tables.operator_kinds import IDLE, is_kind
from jumar.tables.perf import same


class Match(NamedTuple):
    ops: tuple[int, ...]
    """Indexes of host operators."""


class Sequence:
    """The words of one thread."""

    def __init__(self) -> None:
        self.ops: list[int] = []
        self._words: list[str] = []
        self._offsets: list[int] = []
        self._length = 0

    def add(self, op: int, word: str) -> None:
        self.ops.append(op)
        self._words.append(word)
        self._offsets.append(self._length)
        self._length += len(word) + 1

    def find(self, pattern: re.Pattern[str]) -> Iterator[Match]:
        text = " ".join(self._words) + " "
        for match in pattern.finditer(text):
            first = bisect_right(self._offsets, match.start()) - 1
            last = bisect_right(self._offsets, match.end() - 1) - 1
            yield Match(tuple(self.ops[first : last + 1]))


def sequences(facts: Facts) -> list[Sequence]:
    """One for each thread of the host."""
    found: dict[int, Sequence] = {}
    inside: dict[int, float] = {}
    for index, op in enumerate(facts.profile.host):
        if op.end <= inside.get(op.thread, -1.0) or not op.name.startswith(("aten::", "npu::")):
            continue
        word = op.name.partition("::")[2].partition(".")[0].strip("_")
        if is_kind(word, *IDLE):
            continue
        found.setdefault(op.thread, Sequence()).add(index, same().get(word, word))
        inside[op.thread] = op.end
    return list(found.values())


def connected(facts: Facts, match: Match) -> bool:
    """Does data flow through the whole match? True where the profile does not say."""
    host = facts.profile.host
    written: set[int] = set()
    for index in match.ops:
        flow = host[index].flow
        if flow is None:
            return True
        read, results = flow
        if written and not written.intersection(read) and not _feeds(facts, results, match.ops):
            return False
        written.update(results)
    return True


def _feeds(facts: Facts, results: tuple[int, ...], ops: tuple[int, ...]) -> bool:
    """A side branch, such as the second product of a rotary embedding: used by a later operator of the match."""
    for index in ops:
        flow = facts.profile.host[index].flow
        if flow is not None and set(flow[0]).intersection(results):
            return True
    return False
