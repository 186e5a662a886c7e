"""A fixed device in a MindSpore context: in a job it is the one that the platform gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.migrate.passes.cloud import helper
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MA109",
    name="fixed-device",
    summary="a fixed device in a MindSpore context",
    keywords=("set_context",),
)
WANTED = {"device_target": str, "device_id": int}


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    name = file.name(node.func) or ""
    if not name.startswith("mindspore.") or not name.endswith(".set_context"):
        return
    for keyword in node.keywords:
        kind = WANTED.get(keyword.arg or "")
        value = keyword.value
        if kind is None or not isinstance(value, ast.Constant) or not isinstance(value.value, kind):
            continue
        new = file.replace(value, f"{helper.NAME}.{keyword.arg}({file.text(value)})")
        message = f"in a job `{keyword.arg}` takes the platform's value, otherwise {file.text(value)}"
        yield file.rewrite(RULE, value, message, new, needs=helper.NEEDS, subject=str(keyword.arg))
