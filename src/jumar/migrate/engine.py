"""Runs rules over a text of any language until it is settled: choose rules, let them speak, make the edits.

Two rules may want to change the same bytes; the first by position wins and the other gets its turn in another
round, on the changed text. Positions of later rounds are given in terms of the text the user knows.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

from jumar.core.edit import Claims, Edit, apply, map_back, ordered
from jumar.core.finding import Finding, Level, Safety, State
from jumar.core.source import Source
from jumar.migrate import suppress
from jumar.migrate.names import Index
from jumar.migrate.rule import NewFile, Unit
from jumar.migrate.settings import Settings

MAX_ROUNDS = 8
_WORD = re.compile(rb"\w+")
_SMALL = bytes(code if _WORD.match(bytes([code])) else 32 for code in bytes(range(256)).lower())
"""Turns letters into small ones and what is no part of a word into spaces."""


class Round(NamedTuple):
    """What one round of rules said, and of that the findings whose edits are made."""

    findings: list[Finding]
    chosen: list[Finding]
    syntax: Index | None = None
    """The syntax of a Python text."""


class Outcome(NamedTuple):
    findings: list[Finding]
    data: bytes
    """The UTF-8 text after all edits that the settings allow."""
    extra: tuple[NewFile, ...] = ()
    """Further files that the result needs."""
    history: tuple[list[Edit], ...] = ()
    """The edits that were made, round by round."""
    syntax: Index | None = None
    """The syntax of a Python text as the user wrote it."""


def select(units: Iterable[Unit], data: bytes, settings: Settings) -> list[Unit]:
    """The rules that were asked for and can have something to say about this text."""
    chosen = settings.only or settings.skip
    asked = [unit for unit in units if unit.is_chosen(settings)] if chosen else list(units)
    if not asked:
        return []
    words = set(data.translate(_SMALL).split())
    holds = _finder(data, b" ".join(words))
    return [
        unit
        for unit in asked
        if (not unit.words.isdisjoint(words) or any(map(holds, unit.keywords)) or _is_known(unit, words, settings))
        and (not unit.beside or any(map(holds, unit.beside)))
    ]


def held(units: Iterable[Unit], data: bytes) -> set[bytes]:
    """The words of some rules that a text holds."""
    words = set(data.translate(_SMALL).split())
    holds = _finder(data, b" ".join(words))
    found = {word for unit in units for word in unit.words & words}
    return found | {word for unit in units for word in (*unit.keywords, *unit.beside) if holds(word)}


def _is_known(unit: Unit, words: set[bytes], settings: Settings) -> bool:
    names = unit.rule.known(settings.facts) if unit.rule.known is not None else frozenset()
    return any(name.rpartition(".")[2].lower().encode() in words for name in names)


def _finder(data: bytes, words: bytes) -> Callable[[bytes], bool]:
    """Tells whether a text holds a keyword: the text itself, which is long, is searched only when its words do."""
    lowered = cache(data.lower)

    @cache
    def holds(keyword: bytes) -> bool:
        parts = _parts(keyword)
        if not parts:
            return keyword in words
        return all(part in words for part in parts) and keyword in lowered()

    return holds


@cache
def _parts(keyword: bytes) -> tuple[bytes, ...]:
    """The words of a keyword that is more than one word."""
    parts = tuple(_WORD.findall(keyword))
    return () if parts == (keyword,) else parts or (b"",)


def settled(source: Source, findings: Iterable[Finding], settings: Settings) -> Round:
    """What the rules said about a text, by place, with what the user keeps left alone, and the edits to make."""
    kept = suppress.apply(source, sorted(findings, key=_place))
    return Round(kept, choose(kept, settings))


def choose(findings: list[Finding], settings: Settings) -> list[Finding]:
    """The findings whose edits are made in this round: allowed by their safety and not overlapping."""
    allowed = (Safety.SAFE, Safety.ASK) if settings.unsafe else (Safety.SAFE,)
    claims = Claims()
    return [
        finding for finding in findings if finding.edits and finding.safety in allowed and claims.take(finding.edits)
    ]


def until_stable(source: Source, *runners: Callable[[Source], Round], rounds: int = MAX_ROUNDS) -> Outcome:
    """Repeat a round of rules until no edit had to wait; the first round's view counts for reports.

    A further runner works in the same way on what those before it have written.
    """
    findings: list[Finding] = []
    history: list[list[Edit]] = []
    current, index = source, None
    for run_round in runners:
        for turn in range(rounds):
            found, chosen, tree = run_round(current)
            index = tree if current is source and index is None else index
            made = {id(finding) for finding in chosen}
            if turn:
                found = [finding for finding in found if id(finding) in made]
            findings += [original(finding, source, current, history) for finding in found]
            edits = ordered(edit for finding in chosen for edit in finding.edits)
            if not edits:
                break
            history.append(edits)
            current = with_data(current, apply(current.data, edits))
            if not any(
                finding.edits and finding.state is State.REWRITTEN and id(finding) not in made for finding in found
            ):
                break
    return Outcome(distinct(findings), current.data, (), tuple(history), index)


def with_data(source: Source, data: bytes) -> Source:
    """The same file with another text."""
    return Source(source.path, data, source.encoding, source.bom)


def original(finding: Finding, first: Source, current: Source, history: Iterable[list[Edit]]) -> Finding:
    """The finding in terms of the first text; its edits stay in terms of the text they were made for."""
    made = list(history)
    if not made or finding.where is None:
        return finding
    where = finding.where
    spans = [current.starts[where.line - 1], current.starts[max(where.end_line, 1) - 1]]
    for edits in reversed(made):
        spans = [map_back(offset, edits) for offset in spans]
    moved = dataclasses.replace(where, line=first.line_of(spans[0]), end_line=first.line_of(spans[1]))
    return dataclasses.replace(finding, where=moved)


def distinct(findings: Iterable[Finding]) -> list[Finding]:
    """Without repeats, by place; of equal places the rewritten state stays."""
    seen: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        where = finding.where
        key = (finding.id, where.line if where else 0, where.col if where else 0, finding.message)
        if key not in seen or finding.level is Level.NOTE:
            seen[key] = finding
    return sorted(seen.values(), key=_place)


def _place(finding: Finding) -> tuple[int, int, str]:
    return (finding.where.line, finding.where.col, finding.id) if finding.where else (0, 0, "")
