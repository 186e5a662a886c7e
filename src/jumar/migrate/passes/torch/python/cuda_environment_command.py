"""A command in a string that sets variables of a CUDA machine: `"CUDA_VISIBLE_DEVICES=0 python train.py"`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.torch import shapes
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.tables.environment import variable

RULE = Rule(
    id="PT156",
    name="cuda-environment-command",
    summary="a command in a string that sets a CUDA or NCCL variable",
    keywords=("cuda_", "nccl_", "cublas_", "nvidia_"),
)
_SETTING = re.compile(r"(?<![\w$-])((?:CUDA|NCCL|CUBLAS|CUDNN|NVIDIA|TORCH|PYTORCH)_[A-Z0-9_]+)=")


def visit_Constant(node: ast.Constant, file: PyFile) -> Iterator[Finding]:
    if isinstance(node.value, str) and "=" in node.value and node not in file.docstrings:
        yield from _commands(node, node.value, file)


def visit_JoinedStr(node: ast.JoinedStr, file: PyFile) -> Iterator[Finding]:
    parts = [part.value for part in node.values if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    if any("=" in part for part in parts):
        yield from _commands(node, "".join(parts), file)


def _commands(node: ast.Constant | ast.JoinedStr, text: str, file: PyFile) -> Iterator[Finding]:
    rows = [row for match in _SETTING.finditer(text) if (row := variable(match.group(1))) is not None]
    if not rows:
        return
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(row.name for row in rows))
    if shapes.is_text(node, file):
        yield file.report(RULE, node, State.BENIGN, f"a text that mentions {names}", subject=rows[0].name)
        return
    new = [f"`{row.npu}`" for row in rows if row.npu is not None]
    notes = "; ".join(dict.fromkeys(row.note for row in rows if row.npu is None))
    state = State.HAND if new else rows[0].state
    fix = f"set {', '.join(new)} in this command" if new else None
    message = f"a command that sets {names}" + (f": {notes}" if notes else "")
    yield file.report(RULE, node, state, message, fix, subject=rows[0].name)
