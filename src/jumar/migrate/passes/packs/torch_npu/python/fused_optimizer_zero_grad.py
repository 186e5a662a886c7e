"""`model.zero_grad()` in a program that trains with a fused optimizer of torch_npu: gradients of the first step stay.

The optimizer joins all gradients into one tensor when it first steps and reads that tensor from then on.
`model.zero_grad()` sets `p.grad` to None; the next backward makes new tensors that the optimizer never sees
(torch_npu 2.13.0, optim/npu_fused_optim_base.py; run in tests/migrate/test_traps.py).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PK111",
    name="fused-optimizer-zero-grad",
    summary="gradients cleared behind the back of a fused optimizer of torch_npu",
    keywords=("npufused", "apex.optimizers"),
)
_FUSED = ("torch_npu.optim.NpuFused", "apex.optimizers.Fused")
_STALE = "the fused optimizer has joined the gradients of its first step and goes on with those"


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr != "zero_grad":
        return
    made = _optimizers(file)
    if not made:
        return
    given = file.keyword(node, "set_to_none")
    if _is_optimizer(func.value, made):
        if given is not None and isinstance(given.value, ast.Constant) and given.value.value is True:
            message = "`set_to_none=True` raises an error in a fused optimizer of torch_npu"
            yield file.report(RULE, node, State.HAND, message, "leave it out", subject="zero_grad")
        return
    if given is not None and isinstance(given.value, ast.Constant) and given.value.value is False:
        return
    message = f"`{file.text(func)}()` sets gradients to None: {_STALE}"
    yield file.report(RULE, node, State.HAND, message, f"call `{made[0]}.zero_grad()`", subject="zero_grad")


def visit_Assign(node: ast.Assign, file: PyFile) -> Iterator[Finding]:
    target = node.targets[0]
    is_grad = isinstance(target, ast.Attribute) and target.attr == "grad"
    if not is_grad or not isinstance(node.value, ast.Constant) or node.value.value is not None:
        return
    made = _optimizers(file)
    if made:
        message = f"`{file.text(target)} = None`: {_STALE}"
        yield file.report(RULE, target, State.HAND, message, f"call `{made[0]}.zero_grad()`", subject="zero_grad")


def _optimizers(file: PyFile) -> list[str]:
    """The variables that hold a fused optimizer, as they are written."""
    found = []
    for node in [*file.index.nodes[ast.Attribute], *file.index.nodes[ast.Name]]:
        call = file.parent(node)
        if isinstance(call, ast.Call) and call.func is node and (file.name(node) or "").startswith(_FUSED):
            up = file.parent(call)
            if isinstance(up, ast.Assign):
                found += [file.text(target) for target in up.targets]
    return found


def _is_optimizer(node: ast.expr, made: list[str]) -> bool:
    text = ast.unparse(node)
    return text in made or "optim" in text.lower().rpartition(".")[2] or text.rpartition(".")[2] in ("opt", "sched")
