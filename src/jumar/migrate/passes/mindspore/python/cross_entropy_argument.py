"""Arguments that `nn.SoftmaxCrossEntropyWithLogits` lost."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MS112",
    name="cross-entropy-argument",
    summary="an argument that SoftmaxCrossEntropyWithLogits no longer has",
    keywords=("softmaxcrossentropywithlogits",),
)
_NAMES = (
    "mindspore.nn.SoftmaxCrossEntropyWithLogits",
    "mindspore.nn.loss.SoftmaxCrossEntropyWithLogits",
    "mindspore.nn.loss.loss.SoftmaxCrossEntropyWithLogits",
)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    if not calls.is_call(file, node, _NAMES):
        return
    for keyword in node.keywords:
        if keyword.arg in ("smooth_factor", "num_classes"):
            fix = "use `nn.CrossEntropyLoss(label_smoothing=...)`, or smooth the labels with `transforms.OneHot`"
            yield file.report(RULE, keyword, State.UNSUPPORTED, f"`{keyword.arg}` is gone", fix, keyword.arg)
        elif keyword.arg == "is_grad":
            edits = calls.without(file, node, [keyword])
            if edits is not None:
                yield file.rewrite(RULE, keyword, "`is_grad` is removed: the argument no longer exists", *edits)
            else:
                yield file.report(RULE, keyword, State.HAND, "`is_grad` is gone", "take it out", "is_grad")
