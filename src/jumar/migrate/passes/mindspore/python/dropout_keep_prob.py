"""`nn.Dropout(keep_prob=…)`, where `p` is the share that is dropped, and `ops.Dropout(p=…)`, which has `keep_prob`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MS113",
    name="dropout-keep-prob",
    summary="keep_prob of nn.Dropout, which is 1 - p",
    keywords=("dropout",),
    beside=("mindspore",),
)


_OPERATOR = ("mindspore.ops.Dropout", "mindspore.ops.operations.Dropout")


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    if calls.is_call(file, node, _OPERATOR):
        yield from _operator(node, file)
        return
    if not calls.is_call(file, node, ("mindspore.nn.Dropout",)) or file.keyword(node, "p") is not None:
        return
    given = file.argument(node, 0, "keep_prob")
    if given is None:
        if not node.args and not node.keywords:
            return
        fix = "give `p`, the share that is dropped"
        yield file.report(RULE, node, State.BENIGN, "the arguments of this `Dropout` are unknown here", fix)
        return
    keyword = file.keyword(node, "keep_prob")
    yield file.rewrite(
        RULE,
        node,
        "`keep_prob` becomes `p`, the share that is dropped",
        file.replace(keyword or given, f"p={_rest(given, file)}"),
    )


def _operator(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    """The operator never had `p`: whoever wrote it meant the layer's."""
    keyword = file.keyword(node, "p")
    if keyword is None or file.argument(node, 0, "keep_prob") is not None:
        return
    new = f"keep_prob={_rest(keyword.value, file)}"
    message = "`p` becomes `keep_prob`: the operator takes the share that stays"
    yield file.rewrite(RULE, node, message, file.replace(keyword, new))


def _rest(share: ast.expr, file: PyFile) -> str:
    simple = isinstance(share, (ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return f"1 - {file.text(share)}" if simple else f"1 - ({file.text(share)})"
