"""`set_context(device_target=…, device_id=…)`: `mindspore.set_device` since the context is split up."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MS104",
    name="mindspore-device",
    summary="the device chosen through set_context",
    keywords=("device_target", "device_id"),
)
FIX = "call `mindspore.set_device(device_target, device_id)` once, before anything runs"


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    if not calls.is_call(file, node, calls.CONTEXT):
        return
    target, number = file.keyword(node, "device_target"), file.keyword(node, "device_id")
    if target is None:
        if number is not None:
            message = "`device_id` is an argument of `mindspore.set_device` today; here it still works, with a warning"
            yield file.report(RULE, number, State.BENIGN, message, FIX)
        return
    moved = [item for item in (target, number) if item is not None]
    spelled, edits = calls.root(file)
    values = ", ".join(file.text(item.value) for item in moved)
    changed = calls.instead(file, node, moved, [f"{spelled}.set_device({values})"])
    message = "the device is chosen with `mindspore.set_device`"
    if changed is None or "\n" in values:
        yield file.report(RULE, node, State.HAND, message, FIX)
    else:
        yield file.rewrite(RULE, node, message, *changed, *edits)
