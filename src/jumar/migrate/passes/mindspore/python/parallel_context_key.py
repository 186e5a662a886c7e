"""A key of `set_auto_parallel_context` with another name today."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.tables.mindspore_names import parallel_keys

RULE = Rule(
    id="MS106",
    name="parallel-context-key",
    summary="a renamed key of set_auto_parallel_context",
    keywords=("set_auto_parallel_context",),
)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    if not calls.is_call(file, node, calls.PARALLEL):
        return
    for keyword in node.keywords:
        row = parallel_keys().get(keyword.arg or "")
        if row is None:
            continue
        if row.now is None:
            yield file.report(RULE, keyword, State.UNSUPPORTED, f"`{row.name}` is {row.reason}", row.fix, row.name)
            continue
        start, _ = file.source.span(keyword)
        edit = Edit(start, start + len(row.name), row.now.encode())
        yield file.rewrite(RULE, keyword, f"`{row.name}` becomes `{row.now}`", edit, subject=row.name)
