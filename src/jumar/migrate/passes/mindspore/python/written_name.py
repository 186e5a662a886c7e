"""Names of MindSpore 1.x that are gone and that a few lines can stand for (rows: data/mindspore_written.toml)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate import lines as whole_lines
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.tables import mindspore_written
from jumar.tables.mindspore_written import Written

RULE = Rule(
    id="MS119",
    name="written-name",
    summary="a name of MindSpore 1.x that a few lines stand for",
    keywords=tuple(sorted({old.rpartition(".")[2].lower() for old in mindspore_written.by_old_name()})),
    roots=("mindspore",),
)


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    row = mindspore_written.by_old_name().get(name)
    if row is None or calls.resized(file, node) is not None or not _is_whole(file, node):
        return
    if isinstance(node, ast.Name) and not _is_from_import(file, node.id):
        return  # a variable that holds it: what it was given is changed
    definition = _definition(file, row)
    if definition is None or (isinstance(node, ast.Name) and _imported(file, node.id) is None):
        yield _by_hand(file, node, name, row)
        return
    edits = [file.replace(node, row.name), *definition]
    if isinstance(node, ast.Name):
        edits += _without_import(file, node.id)
    yield file.rewrite(RULE, node, f"`{name}` is gone: `{row.name}` is written for it", *edits, subject=name)


def _by_hand(file: PyFile, node: ast.expr, name: str, row: Written) -> Finding:
    fix = f"write a `{row.name}` as on the page of MS119 and use it here"
    return file.report(RULE, node, State.UNSUPPORTED, f"`{name}` is gone in 2.10.0", fix, name)


def _is_whole(file: PyFile, node: ast.expr) -> bool:
    """Not the inner part of a longer chain of attributes."""
    return not isinstance(file.parent(node), ast.Attribute)


def _is_from_import(file: PyFile, local: str) -> bool:
    found = (alias for node in file.index.imports if isinstance(node, ast.ImportFrom) for alias in node.names)
    return any((alias.asname or alias.name) == local for alias in found)


def _definition(file: PyFile, row: Written) -> list[Edit] | None:
    """The lines behind the imports at the top, none if they are there; None where the name is taken.

    All that the file needs go in together, so that every use brings the same edit.
    """
    missing = {one.name: one for one in (row, *_used(file)) if not _is_defined(file, one)}
    if row.name not in missing:
        return []
    anchor = _last_import(file)
    if re.search(rb"\b" + row.name.encode() + rb"\b", file.source.data) or anchor is None:
        return None
    bindings = file.index.module.bindings.items()
    spelled = [name for name, found in bindings if found and all(one.target == "mindspore" for one in found)]
    lines = [] if spelled else ["import mindspore"]
    for name in sorted(missing):
        lines += ["", "", *missing[name].lines((spelled or ["mindspore"])[0]).splitlines()]
    newline, last = file.source.newline.decode(), anchor.end_lineno or anchor.lineno
    at = file.source.starts[last - 1] + len(file.source.line_text(last))
    return [Edit(at, at, "".join(newline + line for line in lines).encode())]


def _used(file: PyFile) -> list[Written]:
    """The rows of all names in the file that this rule replaces."""
    table = mindspore_written.by_old_name()
    nodes = [node for node in ast.walk(file.tree) if isinstance(node, (ast.Name, ast.Attribute))]
    found = [(node, table.get(file.name(node) or "")) for node in nodes]
    return [row for node, row in found if row is not None and calls.resized(file, node) is None]


def _is_defined(file: PyFile, row: Written) -> bool:
    return any(getattr(one, "name", "") == row.name for one in file.tree.body)


def _last_import(file: PyFile) -> ast.stmt | None:
    """The last import that stands before the first definition at module level, alone on its line."""
    found: ast.stmt | None = None
    for statement in file.tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            break
        if isinstance(statement, (ast.Import, ast.ImportFrom)) and whole_lines.ends_line(file, statement):
            found = statement
        elif found is not None and any(_uses(file, node) for node in ast.walk(statement)):
            break
    return found


def _uses(file: PyFile, node: ast.AST) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute)) and file.name(node) in mindspore_written.by_old_name()


def _imported(file: PyFile, local: str) -> tuple[ast.ImportFrom, ast.alias] | None:
    """The import at module level that alone binds a local name."""
    if len(file.index.module.bindings.get(local, ())) != 1:
        return None
    for statement in file.tree.body:
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                if (alias.asname or alias.name) == local:
                    return statement, alias
    return None


def _without_import(file: PyFile, local: str) -> list[Edit]:
    """Take the old name out of its import; where it is the only one, the module is imported instead."""
    found = _imported(file, local)
    assert found is not None
    statement, alias = found
    kept = [file.text(one) for one in statement.names if one is not alias]
    text = f"from {statement.module} import {', '.join(kept)}" if kept else "import mindspore"
    return [file.replace(statement, text)]
