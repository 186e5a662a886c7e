"""A name of MindSpore that has moved or is gone, used in code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.tables import mindspore_names

RULE = Rule(
    id="MS101",
    name="mindspore-name",
    summary="a name of MindSpore that has moved or is gone",
    keywords=("mindspore",),
    roots=("mindspore",),
)


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    found = mindspore_names.moved(name)
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if found is None or not isinstance(node, ast.Attribute) or not isinstance(root, ast.Name):
        return  # a name that an import brings as it is is settled there
    row, new = found
    imported = file.name(root) or ""
    at_import = mindspore_names.moved(imported)
    if at_import is not None and name not in mindspore_names.names():
        return
    if not new:
        yield file.report(RULE, node, State.UNSUPPORTED, f"`{name}` is {row.reason}", row.fix, name)
    elif not new.startswith(f"{imported}."):
        fix = f"import `{new}` and write it here"
        yield file.report(RULE, node, State.HAND, f"`{name}` is `{new}` today ({row.reason})", fix, name)
    else:
        edit = file.replace(node, root.id + new.removeprefix(imported))
        yield file.rewrite(RULE, node, f"`{name}` becomes `{new}` ({row.reason})", edit, subject=name)
