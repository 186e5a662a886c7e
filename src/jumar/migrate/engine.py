"""Runs rules over a text of any language until it is settled: choose rules, let them speak, make the edits.

Two rules may want to change the same bytes; the first by position wins and the other gets its turn in another
round, on the changed text. Positions of later rounds are given in terms of the text the user knows.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from jumar.core.edit import Claims, Edit, apply, map_back, ordered
from jumar.core.finding import Finding, Level, Safety, State
from jumar.core.source import Source
from jumar.migrate import suppress
from jumar.migrate.rule import NewFile, Unit
from jumar.migrate.settings import Settings

MAX_ROUNDS = 8
_WORD = re.compile(rb"\w+")


class Round(NamedTuple):
    """What one round of rules said, and of that the findings whose edits are made."""

    findings: list[Finding]
    chosen: list[Finding]


class Outcome(NamedTuple):
    findings: list[Finding]
    data: bytes
    """The UTF-8 text after all edits that the settings allow."""
    extra: tuple[NewFile, ...] = ()
    """Further files that the result needs."""
    history: tuple[list[Edit], ...] = ()
    """The edits that were made, round by round."""


def select(found: Iterable[Unit], data: bytes, settings: Settings) -> list[Unit]:
    """The rules that were asked for and can have something to say about this text."""
    lowered = data.lower()
    words: set[bytes] = set()
    seen: dict[bytes, bool] = {}
    active = []
    for unit in found:
        name = unit.chosen_as
        if (settings.only and name not in settings.only) or name in settings.skip:
            continue
        if unit.words:
            words = words or set(_WORD.findall(lowered))
            if not unit.words.isdisjoint(words):
                active.append(unit)
                continue
        for word in unit.keywords:
            if word not in seen:
                seen[word] = word in lowered
            if seen[word]:
                active.append(unit)
                break
    return active


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
    current = source
    for run_round in runners:
        for turn in range(rounds):
            found, chosen = run_round(current)
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
    return Outcome(distinct(findings), current.data, (), tuple(history))


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
