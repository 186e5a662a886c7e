"""A dataset or file fetched from the network: the first process of a machine fetches, the others wait for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.passes.multicard import entry, text
from jumar.migrate.passes.multicard import script as scripts
from jumar.migrate.passes.multicard.script import Script
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT308",
    name="every-process-downloads",
    summary="a download that every process would do at the same time",
    keywords=("import",),
)


def finish(file: PyFile) -> Iterator[Finding]:
    script = scripts.of(file)
    if not script.ready:
        return
    seen: set[ast.stmt] = set()
    for call in sorted(_downloads(script), key=lambda call: (call.lineno, call.col_offset)):
        statement = _with_around(script, call)
        if statement in seen or script.is_first_only(call) or not script.here(file, call):
            continue
        seen.add(statement)
        yield _first_goes_first(script, file, statement)


def _downloads(script: Script) -> list[ast.Call]:
    found = [call for call, _ in script.calls_named("downloads") if script.is_reached(call)]
    for call in filter(script.is_reached, script.flow.calls):
        given = script.file.keyword(call, "download")
        if given is not None and isinstance(given.value, ast.Constant) and given.value.value is True:
            found.append(call)
    return found


def _with_around(script: Script, call: ast.Call) -> ast.stmt:
    statement = script.file.statement(call)
    while isinstance(up := script.file.parent(statement), ast.With):
        statement = up
    return statement


def _first_goes_first(script: Script, file: PyFile, statement: ast.stmt) -> Finding:
    start, end = lines.before(file, statement, text.BARRIER_BEFORE), lines.after(file, statement, text.BARRIER_AFTER)
    fix = "download before you start the processes, or let `LOCAL_RANK == 0` do it and wait with a barrier"
    if start is None or end is None or isinstance(statement, ast.Return) or not _in_group(script, statement):
        return file.report(RULE, statement, State.HAND, "every process downloads at the same time", fix)
    place = (start.start, start.start)
    return file.rewrite(RULE, place, "the first process downloads, then the others continue", start, end)


def _in_group(script: Script, statement: ast.stmt) -> bool:
    """Does the statement run behind the start of the process group?"""
    start = script.entry
    if start is None or start.first is None:
        return start is not None
    owner, home = script.flow.owner(statement), script.flow.owner(start.first)
    if owner is home:
        return statement.lineno >= start.first.lineno
    return owner is not file_tree(script) and owner in entry.reach(script, home)


def file_tree(script: Script) -> ast.Module:
    return script.file.tree
