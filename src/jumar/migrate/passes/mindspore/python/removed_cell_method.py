"""A method of a cell that is gone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MS114",
    name="removed-cell-method",
    summary="a method of a cell that is gone",
    keywords=("set_parallel_input_with_inputs", "set_auto_parallel"),
)
_GONE = {
    "set_parallel_input_with_inputs": "remove it: the data set's strategy splits the inputs",
    "set_auto_parallel": "remove it: the parallel context sets it",
}


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr not in _GONE:
        return
    if calls.uses_mindspore(file):
        message = f"`{func.attr}` is gone in 2.10.0"
        yield file.report(RULE, node, State.UNSUPPORTED, message, _GONE[func.attr], func.attr)
