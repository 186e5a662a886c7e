"""`dataset.map(…, column_order=…)`: the order is given with `project`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MS110",
    name="dataset-column-order",
    summary="column_order of a data set's map",
    keywords=("column_order",),
)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    order = file.keyword(node, "column_order")
    if order is None or not isinstance(node.func, ast.Attribute) or node.func.attr != "map":
        return
    if not calls.uses_mindspore(file):
        return
    message = "`map` no longer has `column_order`; `project` orders the columns"
    edits = calls.without(file, node, [order])
    _, end = file.source.span(node)
    if edits is None:
        yield file.report(RULE, node, State.HAND, message, "add `.project(columns)` after the call")
        return
    if isinstance(order.value, ast.Constant) and order.value.value is None:
        yield file.rewrite(RULE, node, message, *edits)
        return
    yield file.rewrite(RULE, node, message, *edits, Edit(end, end, f".project({file.text(order.value)})".encode()))
