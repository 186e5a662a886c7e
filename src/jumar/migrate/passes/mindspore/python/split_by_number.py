"""`ops.split(x, axis, output_num)`: the arguments of MindSpore 1.8 to 1.10.

Source: mindspore 1.10.1 (`ops/function/array_func.py`) and 2.10.0, where the second argument is the size of a part.
The operator `ops.Split(axis, output_num)` is the same in both.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MS121",
    name="split-by-number",
    summary="the number of parts given to ops.split",
    keywords=("output_num",),
)
_NAMES = ("mindspore.ops.split", "mindspore.ops.functional.split")


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    number = file.keyword(node, "output_num")
    if number is None or not calls.is_call(file, node, _NAMES):
        return
    message = "`ops.split` takes the size of a part, the operator `ops.Split` their number"
    value, axis = file.argument(node, 0, "input_x"), file.argument(node, 1, "axis")
    if value is None or file.has_stars(node) or not isinstance(node.func, ast.Attribute):
        yield file.report(RULE, node, State.HAND, message, "write `ops.Split(axis, output_num)(x)`")
        return
    before = file.text(node.func.value)
    new = f"{before}.Split({file.text(axis) if axis else '0'}, {file.text(number.value)})({file.text(value)})"
    yield file.rewrite(RULE, node, message, file.replace(node, new))
