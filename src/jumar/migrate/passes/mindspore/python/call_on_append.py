"""`blocks.append(Block()).set_comm_fusion(1)`: `append` gives nothing back."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MS109",
    name="call-on-append",
    summary="a method called on the result of append",
    keywords=("append",),
    beside=("mindspore",),
)
_METHODS = ("set_comm_fusion", "recompute", "shard", "set_train", "set_grad", "to_float")
_NAMES = ("cell", "new_cell", "appended_cell")


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr not in _METHODS or not isinstance(func.value, ast.Call):
        return
    inner = func.value
    if not isinstance(inner.func, ast.Attribute) or inner.func.attr != "append" or len(inner.args) != 1:
        return
    if not calls.uses_mindspore(file):
        return
    message = f"`append` returns nothing, so `{func.attr}` is called on the cell itself"
    statement = file.statement(node)
    lead = lines.indent(file, statement)
    free = [name for name in _NAMES if name.encode() not in file.source.data]
    if not isinstance(statement, ast.Expr) or statement.value is not node or lead is None or not free:
        fix = f"make the cell, call `{func.attr}` on it, then append it"
        yield file.report(RULE, node, State.HAND, message, fix)
        return
    call = file.text((file.source.span(func)[1] - len(func.attr), file.source.span(node)[1]))
    made = [
        f"{free[0]} = {file.text(inner.args[0])}",
        f"{free[0]}.{call}",
        f"{file.text(inner.func)}({free[0]})",
    ]
    joint = (file.source.newline + lead).decode()
    yield file.rewrite(RULE, node, message, file.replace(statement, joint.join(made)))
