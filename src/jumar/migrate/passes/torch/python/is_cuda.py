"""`x.is_cuda`: does a tensor live on the accelerator?"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.torch import owners, targets
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule, Site

RULE = Rule(
    id="PT106",
    name="is-cuda",
    summary="a test whether a tensor is on a CUDA device",
    keywords=("is_cuda",),
    site=Site.TENSOR,
)


def visit_Attribute(node: ast.Attribute, file: PyFile) -> Iterator[Finding]:
    if node.attr != "is_cuda":
        return
    name = file.name(node)
    if name is not None and name.startswith("torch."):
        return
    at = file.attr_span(node)
    if at is None:
        yield file.report(RULE, file.statement(node), State.HAND, "`.is_cuda` inside an f-string", "write `.is_npu`")
        return
    owner = owners.of(file, node.value, "is_cuda", None)
    if owner is owners.Owner.USER or owners.is_assigned(file, node):
        yield file.report(RULE, at, State.BENIGN, "`.is_cuda` of a class of this project")
        return
    if owner is owners.Owner.UNKNOWN or not isinstance(node.ctx, ast.Load):
        fix = "write `.is_npu` if this is a tensor; leave it if it is your own attribute"
        yield file.report(RULE, at, State.HAND, "`.is_cuda` may be of this project's own class", fix)
        return
    change = targets.style(file).is_on_device(file, node)
    yield file.rewrite(RULE, at, "`.is_cuda` tests the device", change, otherwise="compare `x.device.type`", about=node)
