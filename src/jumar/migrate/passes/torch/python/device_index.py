"""A bare number as device: `.to(0)`, `device=0`, `torch.device(0)`; torch gives it to the accelerator it has."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.torch import targets
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT107",
    name="device-index",
    summary="a card given by its bare number",
    keywords=("device", ".to("),
    beside=("torch",),
)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    if not (node.args or node.keywords):
        return
    value = _index(node, file)
    if value is None or not file.imports("torch"):
        return
    if isinstance(value, ast.List):
        yield file.report(RULE, value, State.BENIGN, "card numbers count NPUs as they count CUDA cards")
        return
    change = targets.style(file).index(file, value)
    if change is not None and not change.edits:
        yield file.report(RULE, value, State.BENIGN, "a bare card number means the NPU once torch_npu is loaded")
    else:
        fix = 'write `f"npu:{index}"` or a `torch.device` here'
        yield file.rewrite(RULE, value, "a bare card number is a device", change, otherwise=fix)


def _index(node: ast.Call, file: PyFile) -> ast.expr | None:
    for keyword in node.keywords:
        if keyword.arg == "device" and _is_number(keyword.value):
            return keyword.value
        if keyword.arg in ("device_ids", "output_device") and isinstance(keyword.value, ast.List):
            return keyword.value if all(_is_number(item) for item in keyword.value.elts) else None
    func = node.func
    if not isinstance(func, ast.Attribute) or not node.args or not _is_number(node.args[0]):
        return None
    if func.attr == "to":
        return node.args[0]
    return node.args[0] if func.attr == "device" and file.name(func) == "torch.device" else None


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int
