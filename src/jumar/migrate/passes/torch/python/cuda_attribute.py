"""`stream.cuda_stream`, `graph(cuda_graph=…)`: attributes and keywords of torch's own objects that say CUDA."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.torch import owners, targets
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.tables.apis import attributes, keywords

RULE = Rule(
    id="PT111",
    name="cuda-attribute",
    summary="an attribute or keyword of torch's own objects with `cuda` in its name",
    keywords=("cuda_stream", "cuda_event", "cuda_graph"),
)


def visit_Attribute(node: ast.Attribute, file: PyFile) -> Iterator[Finding]:
    new = attributes().get(node.attr)
    if new is None:
        return
    at = file.attr_span(node)
    if at is None:
        return
    if owners.is_assigned(file, node):
        yield file.report(RULE, at, State.BENIGN, f"`.{node.attr}` is this file's own attribute")
        return
    change = targets.style(file).attribute(file, node, new)
    what = f"`.{node.attr}` is `.{new}` on an NPU"
    yield file.rewrite(RULE, at, what, change, otherwise=f"write `.{new}` if this runs on an NPU")


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    if not node.keywords:
        return
    known = keywords().get(file.name(node.func) or "")
    for keyword in node.keywords if known else ():
        if known and keyword.arg in known:
            start, _ = file.source.span(keyword)
            at = (start, start + len(keyword.arg.encode()))
            change = targets.style(file).argument(file, keyword, known[keyword.arg])
            what = f"the keyword `{keyword.arg}` is `{known[keyword.arg]}` on an NPU"
            yield file.rewrite(RULE, at, what, change, otherwise="give this argument by position")
