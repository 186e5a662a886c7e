"""A string that names a CUDA device (`"cuda"`, `"cuda:0"`, `f"cuda:{i}"`) where a device is meant."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.migrate import targets
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT101",
    name="cuda-device-string",
    summary="a string that names a CUDA device",
    keywords=("cuda",),
)
_DEVICE = re.compile(r"cuda(:\d*)?")


def visit_Constant(node: ast.Constant, file: PyFile) -> Iterator[Finding]:
    if not isinstance(node.value, str) or not _DEVICE.fullmatch(node.value):
        return
    change = targets.device(file, node)
    if change is not None:
        yield file.rewrite(RULE, node, f"device string {file.text(node)}", *change.edits, needs=change.needs)
