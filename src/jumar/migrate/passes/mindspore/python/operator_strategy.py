"""`op.set_strategy(…)`: `shard` takes tuples of tuples."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MS107",
    name="operator-strategy",
    summary="set_strategy, which is now shard",
    keywords=("set_strategy",),
)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr != "set_strategy" or not calls.uses_mindspore(file):
        return
    message = "`set_strategy` becomes `shard`, with a tuple of tuples"
    if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
        yield file.report(RULE, node, State.HAND, message, "write `op.shard(((4, 1), (1, 1)))`")
        return
    rename = file.rename_attr(func, "shard")
    argument = node.args[0]
    edits = [rename] if rename else []
    if _has_lists(argument):
        edits.append(file.replace(argument, _tuples(argument, file)))
    yield file.rewrite(RULE, node, message, *edits)


def _has_lists(node: ast.expr) -> bool:
    return any(isinstance(part, (ast.List, ast.Set)) for part in ast.walk(node))


def _tuples(node: ast.expr, file: PyFile) -> str:
    if not isinstance(node, (ast.List, ast.Set, ast.Tuple)):
        return file.text(node)
    parts = [_tuples(part, file) for part in node.elts]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
