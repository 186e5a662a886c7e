"""`accelerator="gpu"` and `gpus=` of Lightning, which has no accelerator for NPUs of its own.

Lightning-AI/pytorch-lightning issue 19498 and pull request 19308, both closed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, Safety, State
from jumar.migrate.passes.torch import shapes, targets
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.migrate.settings import Style

RULE = Rule(
    id="PT204",
    name="lightning-accelerator",
    summary="a Lightning Trainer or Fabric that asks for GPUs",
    keywords=("lightning", "trainer", "fabric"),
    beside=("accelerator", "gpus"),
    safety=Safety.ASK,
)
_CLASSES = {"Trainer", "Fabric", "LightningCLI"}
_OWNERS = ("lightning", "pytorch_lightning", "lightning_fabric")
_FIX = "register an `Accelerator` for `npu` with Lightning first; otherwise use `--to import`, or accelerate"


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    if shapes.last_word(node.func) not in _CLASSES:
        return
    name = file.name(node.func)
    if name is not None and name.partition(".")[0] not in _OWNERS:
        return
    for keyword in node.keywords:
        value = keyword.value
        if keyword.arg == "accelerator" and isinstance(value, ast.Constant) and value.value in ("gpu", "cuda"):
            yield _accelerator(value, str(value.value), file)
        elif keyword.arg in ("gpus", "auto_select_gpus", "num_gpus") and (name or keyword.arg != "num_gpus"):
            message = f"`{keyword.arg}` requests CUDA cards from Lightning"
            fix = 'write `accelerator="npu", devices=…`; ' + _FIX
            yield file.report(RULE, keyword, State.HAND, message, fix, subject="lightning")


def _accelerator(value: ast.Constant, old: str, file: PyFile) -> Finding:
    edits = file.in_string(value, old, "npu")
    message = f"accelerator `{old}` becomes `npu`: {_FIX}"
    if file.settings.to is Style.IMPORT:
        return file.rewrite(RULE, value, f"accelerator `{old}` works at run time", safety=Safety.SAFE)
    if not edits or targets.is_agnostic(file):
        return file.report(RULE, value, State.HAND, f"accelerator `{old}` means CUDA here", _FIX, subject="lightning")
    return file.rewrite(RULE, value, message, *edits, subject="lightning")
