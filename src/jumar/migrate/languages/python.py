"""Python sources: one parse and one walk for each round of rules; passes that go first, then all others together."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

from jumar.core.edit import Edit
from jumar.core.finding import Finding, Level, Safety, State
from jumar.core.source import Source
from jumar.migrate import engine, imports, rule
from jumar.migrate.document import Document
from jumar.migrate.engine import Outcome, Round
from jumar.migrate.names import Index
from jumar.migrate.pyfile import UNPARSABLE, PyFile, parse
from jumar.migrate.rule import NOT_PYTHON, After, Imports, NewFile, Unit
from jumar.migrate.settings import Settings

SUFFIXES = (".py", ".pyi")
INTERPRETER = re.compile(rb"python")


def migrate(source: Source, settings: Settings) -> Outcome:
    """All findings in a Python text, and the text with the allowed edits made."""
    if any(one.wrote(source) for one in rule.passes()):
        return Outcome([], source.data)
    known = rule.active("python", settings)
    first = [unit for unit in known if unit.owner.goes_first]
    rest = [unit for unit in known if not unit.owner.goes_first]
    findings: list[Finding] = []
    history: list[list[Edit]] = []
    extra: tuple[NewFile, ...] = ()
    index: Index | None = None
    current = source
    for units, stage in ((first, _once), (rest, _together)):
        active = engine.select(units, current.data, settings)
        if not active:
            continue
        outcome = stage(current, settings, active)
        findings += [engine.original(finding, source, current, history) for finding in outcome.findings]
        index = outcome.syntax if current is source else index
        history += outcome.history
        extra = outcome.extra + extra
        current = engine.with_data(current, outcome.data)
    return Outcome(engine.distinct(findings), current.data, extra, syntax=index)


def round_of_rules(source: Source, settings: Settings, active: Sequence[Unit]) -> Round:
    """One round of the Python rules: all findings, and those whose edits are to be made."""
    try:
        tree = parse(source.data, source.path)
    except UNPARSABLE as error:
        return Round([_unparsed(source, error)], [])
    file = PyFile(source, settings, tree, wanted_types(active))
    said = list(run_rules(file, active))
    for owner in dict.fromkeys(unit.owner for unit in active):
        said = owner.settle(file, said)
    found, chosen, _ = engine.settled(source, said, settings)
    for added in _imports(file, active, chosen):
        found.append(added)
        chosen.append(added)
    return Round(found, chosen, file.index)


def _once(source: Source, settings: Settings, active: list[Unit]) -> Outcome:
    """One round, for passes that must see the text as the user wrote it."""
    outcome = engine.until_stable(source, partial(round_of_rules, settings=settings, active=active), rounds=1)
    return _with_files(outcome, source, settings, lambda: _tree(outcome.data, source.path), first=True)


def _together(source: Source, settings: Settings, active: list[Unit]) -> Outcome:
    """Rounds until nothing waits; a text that would no longer be Python is not written at all."""
    last = [unit for unit in active if unit.rule.last]
    rest = [unit for unit in active if not unit.rule.last]
    turns = (partial(round_of_rules, settings=settings, active=turn) for turn in (rest, last) if turn)
    outcome = engine.until_stable(source, *turns)
    tree = cache(lambda: _tree(outcome.data, source.path))
    if outcome.data != source.data and tree() is None:
        found, _, index = round_of_rules(source, settings, active)
        return Outcome([_withdrawn(finding) for finding in found], source.data, syntax=index)
    return _with_files(outcome, source, settings, tree, first=False)


def _with_files(
    outcome: Outcome, source: Source, settings: Settings, tree: Callable[[], ast.Module | None], *, first: bool
) -> Outcome:
    """The outcome with the further files that its passes want."""
    after = After(engine.with_data(source, outcome.data), settings, outcome.data != source.data, tree)
    asked = [one for one in rule.passes() if one.is_wanted(settings) and one.goes_first is first]
    return outcome._replace(extra=tuple(new for one in asked for new in one.files(after)))


def _tree(data: bytes, path: str) -> ast.Module | None:
    try:
        return parse(data, path)
    except UNPARSABLE:
        return None


def wanted_types(active: Sequence[Unit]) -> frozenset[type[ast.AST]]:
    names = {name.removeprefix("visit_") for unit in active for name in unit.visitors}
    return frozenset(kind for name in names if isinstance(kind := getattr(ast, name, None), type))


def run_rules(file: PyFile, active: Sequence[Unit]) -> Iterator[Finding]:
    """Every finding of the active rules; `finish` functions come last and see what the others covered."""
    named: dict[str, list[Unit]] = {}
    parents = file.index.parent
    for unit in active:
        for root in unit.rule.roots:
            named.setdefault(root, []).append(unit)
    for kind in file.index.nodes:
        visitors = [unit.visitors[key] for unit in active if (key := f"visit_{kind.__name__}") in unit.visitors]
        if visitors:
            for node in file.index.nodes[kind]:
                if kind is ast.Constant and type(parents.get(node)) is ast.JoinedStr:
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
            if type(parents.get(node)) is ast.Attribute:
                continue
            name = file.index.qualified(node)
            if name is None:
                continue
            for unit in named.get(name.split(".", 1)[0], ()):
                yield from unit.visitors["visit_name"](node, name, file)


def _imports(file: PyFile, active: Sequence[Unit], chosen: Sequence[Finding]) -> list[Finding]:
    """The imports that the chosen edits need, one finding for each place they go to."""
    owners = {unit.rule.id: unit.owner for unit in active}
    wanted: dict[Imports, dict[str, None]] = {}
    lines: set[int] = set()
    for finding in chosen:
        needs = file.needs.get(id(finding), ())
        if needs:
            how = owners[finding.id].imports
            assert how is not None, f"{finding.id} needs an import: its pass has to say how"
            wanted.setdefault(how, {}).update(dict.fromkeys(needs))
            lines.add(finding.where.line if finding.where else 0)
    found = []
    for how, needed in wanted.items():
        added = ", ".join(f"`{statement}`" for statement in needed)
        for edit in imports.insert(
            file, list(needed), how.after, lines if how.in_every_function(file.settings) else ()
        ):
            found.append(file.rewrite(how.rule, (edit.start, edit.end), f"adds {added}", edit))
    return found


def _unparsed(source: Source, error: BaseException) -> Finding:
    line = getattr(error, "lineno", None) or 1
    line = min(max(line, 1), max(len(source.starts) - 1, 1))
    reason = getattr(error, "msg", None) or str(error) or type(error).__name__
    start = source.starts[line - 1]
    return Document(source, Settings()).report(
        NOT_PYTHON,
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
