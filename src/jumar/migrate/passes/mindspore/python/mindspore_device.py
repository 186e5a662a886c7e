"""`set_context(device_target=…, device_id=…)`: `mindspore.set_device` since the context is split up."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MS104",
    name="mindspore-device",
    summary="the device chosen through set_context",
    keywords=("device_target", "device_id", "set_device"),
)
_ASCEND = ("GPU", "Davinci")
"""What else a program may name; "Davinci" was the NPU's name in 1.x, and 2.10.0 rejects it."""
FIX = "call `mindspore.set_device(device_target, device_id)` once, before anything runs"


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    if calls.is_call(file, node, ("mindspore.set_device",)):
        given = file.argument(node, 0, "device_target")
        if given is not None and _is_renamed(given):
            yield file.rewrite(RULE, given, "the device is an NPU", file.replace(given, _value(given, file)))
        return
    if not calls.is_call(file, node, calls.CONTEXT):
        return
    target, number = file.keyword(node, "device_target"), file.keyword(node, "device_id")
    if target is None:
        if number is not None:
            message = "`device_id` now belongs to `mindspore.set_device`; here it still works, with a warning"
            yield file.report(RULE, number, State.BENIGN, message, FIX)
        return
    moved = [item for item in (target, number) if item is not None]
    spelled, edits = calls.root(file)
    values = ", ".join(_value(item.value, file) for item in moved)
    changed = calls.instead(file, node, moved, [f"{spelled}.set_device({values})"])
    message = "the device is chosen with `mindspore.set_device`"
    if changed is None or "\n" in values:
        yield file.report(RULE, node, State.HAND, message, FIX)
    else:
        yield file.rewrite(RULE, node, message, *changed, *edits)


def _is_renamed(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in _ASCEND


def _value(node: ast.expr, file: PyFile) -> str:
    text = file.text(node)
    for name in _ASCEND if _is_renamed(node) else ():
        text = text.replace(name, "Ascend")
    return text
