"""Runs the rules over one Python text: cheap filter, one parse, one walk.

Two rules may want to change the same bytes; the first by position wins and the other gets its turn in another
round, on the changed text. Positions of later rounds are given in terms of the text the user knows.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from jumar.core.edit import Claims, Edit, apply, map_back, ordered
from jumar.core.finding import Finding, Level, Safety, State
from jumar.core.source import Source
from jumar.migrate import imports, suppress, targets
from jumar.migrate.cloud import helper
from jumar.migrate.document import Document
from jumar.migrate.multicard import launch
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Unit, units
from jumar.migrate.rules.cloud import cloud_helper_import
from jumar.migrate.rules.python import not_python, torch_npu_import
from jumar.migrate.settings import Settings

MAX_ROUNDS = 8
_WORD = re.compile(rb"\w+")
MULTI_CARD = "PT300"


RoundRunner = Callable[[Source], tuple[list[Finding], list[Finding]]]
"""Runs the rules once: all findings, and those whose edits are to be made."""


class Outcome(NamedTuple):
    findings: list[Finding]
    data: bytes
    """The UTF-8 text after all edits that the settings allow."""
    extra: tuple[tuple[str, bytes], ...] = ()
    """Further files that the result needs (a helper module, a launch script), by path beside this file."""


def migrate_python(source: Source, settings: Settings) -> Outcome:
    """All findings in a Python text, and the text with the allowed edits made."""
    if targets.is_generated(source):
        return Outcome([], source.data)
    known = units("cloud") if settings.cloud else (*units("python", settings.rule_paths), *units("mindspore"))
    active = select(known, source.data, settings)
    if not active:
        return Outcome([], source.data)
    first = [unit for unit in active if unit.rule.multi_card]
    if first:
        return _multi_card_first(source, settings, first)
    last = [unit for unit in active if unit.rule.last]
    rest = [unit for unit in active if not unit.rule.last]
    outcome = until_stable(
        source, *(partial(python_round, settings=settings, active=turn) for turn in (rest, last) if turn)
    )
    if outcome.data != source.data and not _parses(outcome.data, source.path):
        found, _ = python_round(source, settings, active)
        return Outcome([_withdrawn(finding) for finding in found], source.data)
    if settings.cloud:
        return outcome._replace(extra=helper.files(source, outcome.data, settings.cloud))
    if not targets.wants_files(settings, outcome.data):
        return outcome
    after = Source(source.path, outcome.data, source.encoding, source.bom)
    return outcome._replace(
        extra=targets.extra_files(PyFile(after, settings, parse(after.data, after.path), frozenset()))
    )


def _multi_card_first(source: Source, settings: Settings, active: list[Unit]) -> Outcome:
    """One round of the multi-card rules, then all others on what they wrote."""
    findings, chosen = python_round(source, settings, active)
    edits = ordered(edit for finding in chosen for edit in finding.edits)
    between = Source(source.path, apply(source.data, edits), source.encoding, source.bom)
    then = migrate_python(between, dataclasses.replace(settings, multi_card=False))
    findings += [_original(finding, source, between, [edits]) for finding in then.findings]
    return Outcome(_distinct(findings), then.data, then.extra + (launch.files() if chosen else ()))


def select(found: Iterable[Unit], data: bytes, settings: Settings) -> list[Unit]:
    """The rules that can have something to say about this text."""
    lowered = data.lower()
    words: set[bytes] = set()
    seen: dict[bytes, bool] = {}
    active = []
    for unit in found:
        rule = unit.rule
        # The multi-card rules write one program together: they are chosen or left out as one.
        name = MULTI_CARD if rule.multi_card else rule.id
        if (settings.only and name not in settings.only) or name in settings.skip:
            continue
        if rule.multi_card and not settings.multi_card:
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


def until_stable(source: Source, *runners: RoundRunner) -> Outcome:
    """Repeat a round of rules until no edit had to wait; the first round's view counts for reports.

    A further runner works in the same way on what those before it have written.
    """
    findings: list[Finding] = []
    history: list[list[Edit]] = []
    current = source
    for run_round in runners:
        for turn in range(MAX_ROUNDS):
            found, chosen = run_round(current)
            made = {id(finding) for finding in chosen}
            if turn:
                found = [finding for finding in found if id(finding) in made]
            findings += [_original(finding, source, current, history) for finding in found]
            edits = ordered(edit for finding in chosen for edit in finding.edits)
            if not edits:
                break
            history.append(edits)
            current = Source(source.path, apply(current.data, edits), source.encoding, source.bom)
            if not any(
                finding.edits and finding.state is State.REWRITTEN and id(finding) not in made for finding in found
            ):
                break
    return Outcome(_distinct(findings), current.data)


def choose(findings: list[Finding], settings: Settings) -> list[Finding]:
    """The findings whose edits are made in this round: allowed by their safety and not overlapping."""
    allowed = (Safety.SAFE, Safety.ASK) if settings.unsafe else (Safety.SAFE,)
    claims = Claims()
    return [
        finding for finding in findings if finding.edits and finding.safety in allowed and claims.take(finding.edits)
    ]


def python_round(source: Source, settings: Settings, active: list[Unit]) -> tuple[list[Finding], list[Finding]]:
    """One round of the Python rules: all findings, and those whose edits are to be made."""
    try:
        tree = parse(source.data, source.path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return [_unparsed(source, error)], []
    file = PyFile(source, settings, tree, wanted_types(active))
    findings = suppress.apply(source, run_rules(file, active))
    findings.sort(
        key=lambda finding: (finding.where.line, finding.where.col, finding.id) if finding.where else (0, 0, "")
    )
    chosen = choose(findings, settings)
    needed = [need for finding in chosen for need in file.needs.get(id(finding), ())]
    if needed:
        added = _imports(file, list(dict.fromkeys(needed)))
        if added is not None:
            findings.append(added)
            chosen.append(added)
    return findings, chosen


def parse(data: bytes, path: str) -> ast.Module:
    """The tree of a UTF-8 text; a coding line in it speaks of the file, not of this text, and must not be followed."""
    text = data.decode() if b"coding" in data[:400] else data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, path)


def _parses(data: bytes, path: str) -> bool:
    try:
        parse(data, path)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def wanted_types(active: list[Unit]) -> frozenset[type[ast.AST]]:
    names = {name.removeprefix("visit_") for unit in active for name in unit.visitors}
    return frozenset(kind for name in names if isinstance(kind := getattr(ast, name, None), type))


def run_rules(file: PyFile, active: list[Unit]) -> Iterator[Finding]:
    """Every finding of the active rules; `finish` functions come last and see what the others covered."""
    named: dict[str, list[Unit]] = {}
    for unit in active:
        for root in unit.rule.roots:
            named.setdefault(root, []).append(unit)
    for kind in file.index.nodes:
        visitors = [unit.visitors[key] for unit in active if (key := f"visit_{kind.__name__}") in unit.visitors]
        if visitors:
            for node in file.index.nodes[kind]:
                if kind is ast.Constant and isinstance(file.index.parent.get(node), ast.JoinedStr):
                    continue
                for visitor in visitors:
                    yield from visitor(node, file)
    if named:
        yield from _visit_names(file, named)
    for unit in active:
        if "finish" in unit.visitors:
            yield from unit.visitors["finish"](file)


def _visit_names(file: PyFile, named: dict[str, list[Unit]]) -> Iterator[Finding]:
    parents = file.index.parent
    for kind in (ast.Attribute, ast.Name):
        for node in file.index.nodes[kind]:
            if isinstance(parents.get(node), ast.Attribute):
                continue
            name = file.index.qualified(node)
            if name is None:
                continue
            for unit in named.get(name.split(".", 1)[0], ()):
                yield from unit.visitors["visit_name"](node, name, file)


def _imports(file: PyFile, needed: list[str]) -> Finding | None:
    edit = imports.insert(file, needed, after="" if file.settings.cloud else "torch")
    if edit is None:
        return None
    added = ", ".join(f"`{statement}`" for statement in needed)
    rule = cloud_helper_import.RULE if file.settings.cloud else torch_npu_import.RULE
    return file.rewrite(rule, (edit.start, edit.end), f"adds {added}", edit)


def _unparsed(source: Source, error: BaseException) -> Finding:
    line = getattr(error, "lineno", None) or 1
    line = min(max(line, 1), max(len(source.starts) - 1, 1))
    reason = getattr(error, "msg", None) or str(error) or type(error).__name__
    start = source.starts[line - 1]
    document = Document(source, Settings())
    return document.report(
        not_python.RULE,
        (start, start),
        State.HAND,
        f"this is not Python 3: {reason}",
        "convert the file to Python 3 first (`2to3` helps with Python 2), then run `jumar migrate` again",
    )


def _withdrawn(finding: Finding) -> Finding:
    if not finding.edits:
        return finding
    return dataclasses.replace(
        finding,
        level=Level.WARNING,
        state=State.HAND,
        safety=Safety.SHOW,
        edits=(),
        fix="make this change by hand: with all changes of this file together it would no longer be Python",
    )


def _original(finding: Finding, first: Source, current: Source, history: list[list[Edit]]) -> Finding:
    """The finding in terms of the first text; its edits stay in terms of the text they were made for."""
    if not history or finding.where is None:
        return finding
    where = finding.where
    spans = [current.starts[where.line - 1], current.starts[max(where.end_line, 1) - 1]]
    for edits in reversed(history):
        spans = [map_back(offset, edits) for offset in spans]
    moved = dataclasses.replace(where, line=first.line_of(spans[0]), end_line=first.line_of(spans[1]))
    return dataclasses.replace(finding, where=moved)


def _distinct(findings: list[Finding]) -> list[Finding]:
    """Without repeats, by place; of equal places the rewritten state stays."""
    seen: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        where = finding.where
        key = (finding.id, where.line if where else 0, where.col if where else 0, finding.message)
        if key not in seen or finding.level is Level.NOTE:
            seen[key] = finding
    return sorted(
        seen.values(),
        key=lambda finding: (finding.where.line, finding.where.col, finding.id) if finding.where else (0, 0, ""),
    )
