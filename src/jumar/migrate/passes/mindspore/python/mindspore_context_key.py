"""A key of `set_context` that is gone or has a function of its own today."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.tables.mindspore_names import ContextKey, context_keys

RULE = Rule(
    id="MS105",
    name="mindspore-context-key",
    summary="a key of set_context that is gone or has moved",
    keywords=("set_context",),
)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    if not calls.is_call(file, node, calls.CONTEXT):
        return
    for keyword in node.keywords:
        row = context_keys().get(keyword.arg or "")
        if row is not None:
            yield _key(node, keyword, row, file)


def _key(node: ast.Call, keyword: ast.keyword, row: ContextKey, file: PyFile) -> Finding:
    value = file.text(keyword.value)
    if row.drop or value in row.off:
        edits = calls.instead(file, node, [keyword], [])
        message = f"`{row.name}` is removed: {row.note or 'nothing reads it'}"
        if edits is not None:
            return file.rewrite(RULE, keyword, message, *edits, subject=row.name)
        return file.report(RULE, keyword, State.HAND, message, "take it out", row.name)
    if row.call is None or (row.only and value not in row.only):
        return file.report(RULE, keyword, State.HAND, f"`{row.name}` of `set_context` has moved", row.fix, row.name)
    spelled, imports = calls.root(file)
    call = row.call.format(value)
    message = f"`{row.name}` becomes `mindspore.{call}`"
    edits = calls.instead(file, node, [keyword], [f"{spelled}.{call}"]) if "\n" not in value else None
    if edits is None:
        return file.report(RULE, keyword, State.HAND, message, f"call `mindspore.{call}`", row.name)
    return file.rewrite(RULE, keyword, message, *edits, *imports, subject=row.name)
