"""An import of a MindSpore module or name that has moved."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import from_imports
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.tables import mindspore_names

RULE = Rule(
    id="MS102",
    name="mindspore-import",
    summary="an import of a MindSpore module that has moved or is gone",
    keywords=("mindspore",),
)


def visit_Import(node: ast.Import, file: PyFile) -> Iterator[Finding]:
    for alias in node.names:
        found = mindspore_names.moved(alias.name)
        if found is None:
            continue
        row, new = found
        if not new:
            yield file.report(RULE, alias, State.UNSUPPORTED, f"`{alias.name}` is {row.reason}", row.fix, alias.name)
            continue
        text = f"{new} as {alias.asname}" if alias.asname else new
        message = f"`{alias.name}` becomes `{new}` ({row.reason})"
        yield file.rewrite(RULE, alias, message, file.replace(alias, text), subject=alias.name)


def visit_ImportFrom(node: ast.ImportFrom, file: PyFile) -> Iterator[Finding]:
    if node.level or not node.module or node.module.split(".")[0] != "mindspore":
        return
    if any(alias.name == "*" for alias in node.names):
        found = mindspore_names.moved(node.module)
        if found is not None:
            yield _whole_module(node, *found, file)
        return
    moved: dict[str, str] = {}
    for alias in node.names:
        name = f"{node.module}.{alias.name}"
        found = mindspore_names.moved(name)
        if found is None:
            continue
        row, new = found
        if new:
            moved[alias.name] = new
        else:
            yield file.report(RULE, alias, State.UNSUPPORTED, f"`{name}` is {row.reason}", row.fix, name)
    if not moved:
        return
    message = "; ".join(f"`{node.module}.{old}` becomes `{new}`" for old, new in moved.items())
    edit = from_imports.move(file, node, moved)
    if edit is None:
        fix = "remove the comment from the import and run `jumar migrate` again"
        yield file.report(RULE, node, State.HAND, message, fix)
    else:
        yield file.rewrite(RULE, node, message, edit)


def _whole_module(node: ast.ImportFrom, row: mindspore_names.Moved, new: str, file: PyFile) -> Finding:
    if not new:
        return file.report(RULE, node, State.UNSUPPORTED, f"`{node.module}` is {row.reason}", row.fix)
    edit = file.replace(node, f"from {new} import *")
    return file.rewrite(RULE, node, f"`{node.module}` becomes `{new}` ({row.reason})", edit)
