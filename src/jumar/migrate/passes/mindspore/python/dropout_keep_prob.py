"""`nn.Dropout(keep_prob=…)`: `p` is the share that is dropped."""

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


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
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
    text = file.text(given)
    simple = isinstance(given, (ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    new = f"p=1 - {text}" if simple else f"p=1 - ({text})"
    yield file.rewrite(
        RULE, node, "`keep_prob` becomes `p`, the share that is dropped", file.replace(keyword or given, new)
    )
