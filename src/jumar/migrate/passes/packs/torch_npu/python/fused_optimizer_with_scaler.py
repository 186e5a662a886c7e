"""`fused=True` together with `torch.cuda.amp.GradScaler`: the scaler of `torch.npu.amp` cannot drive such an optimizer.

It hands itself to `step()` as `grad_scaler`, which torch's fused optimizers no longer take: `TypeError`. The scaler of
`torch.amp` can (torch and torch_npu 2.13.0; run in tests/migrate/test_traps.py).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PK112",
    name="fused-optimizer-with-scaler",
    summary="a fused optimizer with the loss scaling of `torch.npu.amp`",
    keywords=("gradscaler",),
)
_OPTIMIZERS = {f"torch.optim.{name}" for name in ("Adam", "AdamW", "SGD", "Adagrad")}
_SCALERS = ("torch.cuda.amp.GradScaler", "torch.npu.amp.GradScaler", "torch_npu.npu.amp.GradScaler",
            "torch.cuda.amp.grad_scaler.GradScaler")  # fmt: skip


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    if file.name(node.func) not in _OPTIMIZERS:
        return
    fused = file.keyword(node, "fused")
    if fused is None or not isinstance(fused.value, ast.Constant) or fused.value.value is not True:
        return
    names = [*file.index.nodes[ast.Attribute], *file.index.nodes[ast.Name]]
    if any(file.name(name) in _SCALERS for name in names):
        message = "`fused=True` with `torch.npu.amp.GradScaler` raises `TypeError` in `scaler.step`"
        fix = 'use `torch.amp.GradScaler("npu")`, or leave `fused=True` out'
        yield file.report(RULE, fused, State.HAND, message, fix, subject="fused")
