"""Which kind of program wrote a log: an installer, a build, a service … What to collect depends on it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from jumar.tables.errors import families, programs

_PART = 65536
"""Bytes looked at, of the beginning and of the end."""


class Sample:
    """The beginning and the end of logs, kept while they are read."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._heads: list[bytes] = []

    def kept(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """The same blocks, remembered a little."""
        end = b""
        self._heads.append(b"")
        for block in blocks:
            if not end:
                self._heads[-1] = block[:_PART]
                self._parts.append(block[:_PART])
            end = block
            yield block
        self._parts.append(end[_PART:][-_PART:])

    def heads(self) -> list[str]:
        """The beginning of each log."""
        return [head.decode("utf-8", "replace") for head in self._heads]

    def foreign(self) -> frozenset[str]:
        """Kinds of software that the logs do not speak of, where they speak of others."""
        text = b"\n".join(self._parts).decode("utf-8", "replace")
        spoken = {kind for kind, words in families().items() if re.search(words, text)}
        return frozenset(families()) - spoken if spoken else frozenset()

    def kind(self, near: Iterable[str]) -> str:
        """The kind whose words stand on most lines, those near the errors first; the first one where two are equal."""
        lines = b"\n".join(self._parts).decode("utf-8", "replace").splitlines()
        close = list(near)
        counts = {row.kind: (_count(row.match, close), _count(row.match, lines)) for row in programs()}
        return max(counts, key=lambda kind: counts[kind]) if any(map(any, counts.values())) else programs()[-1].kind


def _count(match: str, lines: list[str]) -> int:
    pattern = re.compile(match) if match else None
    return sum(1 for line in lines if pattern and pattern.search(line))
