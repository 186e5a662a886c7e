"""`x.cuda()`: the method of tensors and modules; a user's own method of that name stays."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.torch import owners, targets
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT105",
    name="cuda-method",
    summary="a tensor or module that is moved with `.cuda()`",
    keywords=("cuda",),
)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr != "cuda":
        return
    name = file.name(func)
    if name is not None and name.startswith("torch."):
        return
    at = file.attr_span(func)
    if at is None:
        yield file.report(RULE, file.statement(node), State.HAND, "`.cuda()` inside an f-string", "write `.npu()` here")
        return
    owner = owners.of(file, func.value, "cuda", name)
    if owner is owners.Owner.USER:
        yield file.report(RULE, at, State.BENIGN, "`.cuda()` of a class of this project")
    elif owner is owners.Owner.UNKNOWN:
        fix = "write `.npu()` if this is a tensor or a module; leave it if it is your own method"
        yield file.report(RULE, at, State.HAND, "`.cuda()` of an object that may be of this project's own class", fix)
    else:
        change = targets.style(file).move(file, node, func)
        yield file.rewrite(
            RULE, at, "`.cuda()` moves to the device", change, otherwise="write `.to(device)` here", about=node
        )
