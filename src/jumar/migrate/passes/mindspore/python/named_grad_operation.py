"""`GradOperation("grad", …)`: the first argument was a name, and is `get_all` today."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MS111",
    name="named-grad-operation",
    summary="a name given to GradOperation",
    keywords=("gradoperation",),
)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    if not calls.is_call(file, node, ("mindspore.ops.composite.GradOperation", "mindspore.ops.GradOperation")):
        return
    given = file.argument(node, 0, "name")
    if not isinstance(given, ast.Constant) or not isinstance(given.value, str):
        return
    message = "`GradOperation` no longer takes a name"
    edits = calls.without(file, node, [file.keyword(node, "name") or given])
    if edits is None:
        yield file.report(RULE, node, State.HAND, message, "leave the name out")
    else:
        yield file.rewrite(RULE, node, message, *edits)
