"""`cell.pipeline_stages(0)` never was a method: the stage is an attribute."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MS108",
    name="pipeline-stage-call",
    summary="a pipeline stage set by a call",
    keywords=("pipeline_stages", "pipeline_stage"),
)
FIX = "write `cell.pipeline_stage = 0`"


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr not in ("pipeline_stages", "pipeline_stage"):
        return
    if len(node.args) != 1 or node.keywords or (file.name(func) or "").startswith("mindspore."):
        return
    if not calls.uses_mindspore(file):
        return
    message = "the stage of a cell is its attribute `pipeline_stage`"
    number, owner = file.text(node.args[0]), file.text(func.value)
    statement = file.statement(node)
    if (
        isinstance(statement, ast.Expr)
        and statement.value is node
        and isinstance(func.value, (ast.Name, ast.Attribute))
    ):
        yield file.rewrite(RULE, node, message, file.replace(statement, f"{owner}.pipeline_stage = {number}"))
        return
    if isinstance(statement, ast.Assign) and statement.value is node and len(statement.targets) == 1:
        target = statement.targets[0]
        after = lines.after(file, statement, [f"{file.text(target)}.pipeline_stage = {number}"])
        if isinstance(target, (ast.Name, ast.Attribute)) and after is not None:
            yield file.rewrite(RULE, node, message, file.replace(node, owner), after)
            return
    yield file.report(RULE, node, State.HAND, message, FIX)
