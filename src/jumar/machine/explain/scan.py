"""Finds the few lines of a log that may hold a signature: every signature has a literal that its lines must contain.

The literals are searched by `libjumar_scan.so` where it was built, otherwise one after the other, which is a hundred
times slower; the lines found are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from jumar.machine.explain import native
from jumar.tables.errors import Role, Signature, signatures

LONGEST = 4096
"""Bytes of a line looked at on each side of a literal: lines can be gigantic."""
_BEFORE = 16384
"""Bytes above a line that are kept: a traceback fits into them."""
_AFTER = 2048
"""Bytes of the lines below that a signature of several lines sees."""
_TIERS = 5
_CODE = re.compile(rb"E(?:[A-Z1-9]\d{4}|RR\d{5}|\d{3,4} +\d\d:)")
Find = Callable[[bytes], list[tuple[int, int]]]


class Candidate(NamedTuple):
    """A line with at least one literal."""

    line: int
    text: bytes
    before: bytes
    """What stands above it in the same block: the time is often there, and the traceback."""
    after: bytes
    """What follows in the same block: the reason is often there."""
    tiers: tuple[tuple[Signature, ...], ...]
    """The signatures that it may fit; those of a tier count only where none of the tiers before fits."""


class Counter:
    """Lines and bytes that went through."""

    lines = 0
    size = 0


def candidates(blocks: Iterable[bytes], counter: Counter) -> Iterator[Candidate]:
    """The lines worth a closer look, in order; memory stays at a few blocks however long a line is."""
    find = finder()
    kept = b""
    for block in blocks:
        counter.size += len(block)
        text = kept + block
        end = text.rfind(b"\n") + 1
        if not end:
            if len(text) < 8 * LONGEST:
                kept = text
                continue
            end = len(text)
        yield from _in_text(text[:end], find, counter)
        kept = text[end:] if text.endswith(b"\n") or end < len(text) else text[-LONGEST:]
    if kept:
        yield from _in_text(kept, find, counter)
        counter.lines += 1


def _in_text(text: bytes, find: Find, counter: Counter) -> Iterator[Candidate]:
    hits = find(text)
    counted = at = 0
    number = counter.lines + 1
    while at < len(hits):
        place = hits[at][0]
        start = max(text.rfind(b"\n", max(0, place - LONGEST), place) + 1, place - LONGEST,
                    text.rfind(b"\r", max(0, place - LONGEST), place) + 1)  # fmt: skip
        end = _line_end(text, place)
        found: list[int] = []
        while at < len(hits) and hits[at][0] < end:
            found.append(hits[at][1])
            at += 1
        number += text.count(b"\n", counted, start)
        counted = start
        before, after = text[max(0, start - _BEFORE) : start], text[end : end + _AFTER]
        yield Candidate(number, text[start:end], before, after, _of(frozenset(found)))
    counter.lines += text.count(b"\n")


def _line_end(text: bytes, place: int) -> int:
    limit = min(len(text), place + LONGEST)
    for mark in (b"\n", b"\r"):
        found = text.find(mark, place, limit)
        limit = found if found >= 0 else limit
    return limit


@cache
def finder() -> Find:
    """The function that finds all literals of a text: their places in order, and which they are."""
    literals = _literals()
    search = native.searcher(literals) or _slow(literals)

    def find(text: bytes) -> list[tuple[int, int]]:
        hits = search(text)
        codes = [(match.start(), -1) for match in _CODE.finditer(text)]
        return sorted(hits + codes) if codes else hits

    return find


def _slow(literals: tuple[bytes, ...]) -> Find:
    def search(text: bytes) -> list[tuple[int, int]]:
        hits = []
        for number, literal in enumerate(literals):
            at = text.find(literal)
            while at >= 0:
                hits.append((at, number))
                at = text.find(literal, at + 1)
        return sorted(hits)

    return search


@cache
def _literals() -> tuple[bytes, ...]:
    return tuple(sorted({needle for row in signatures().values() for needle in row.needles}))


@cache
def _rows() -> dict[int, frozenset[Signature]]:
    """The signatures of each literal; -1 stands for a code."""
    rows = {
        number: frozenset(row for row in signatures().values() if literal in row.needles)
        for number, literal in enumerate(_literals())
    }
    rows[-1] = frozenset(row for row in signatures().values() if not row.needles)
    return rows


@lru_cache(4096)
def _of(found: frozenset[int]) -> tuple[tuple[Signature, ...], ...]:
    rows = _rows()
    fitting = sorted({row for number in found for row in rows[number]}, key=lambda row: row.id)
    return tuple(tuple(row for row in fitting if _tier(row) == tier) for tier in range(_TIERS))


def _tier(row: Signature) -> int:
    """What a line says itself, what stands back behind that, mere quotes, any exception, any error."""
    if row.role in (Role.GENERIC, Role.UNKNOWN):
        return 3 if row.role is Role.GENERIC else 4
    if row.role is Role.SAID and row.broad:
        return 2
    return 1 if row.alone else 0
