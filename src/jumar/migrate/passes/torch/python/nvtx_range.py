"""NVTX marks through `torch.cuda.nvtx`: `torch.npu.mstx` has the same ones for Ascend's tools.

torch_npu 2.13.0: torch_npu/npu/mstx.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.document import WRITTEN_STYLES
from jumar.migrate.passes.torch import targets, torch_rows
from jumar.migrate.passes.torch.styles import npu
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule, Site

RULE = Rule(
    id="PT167",
    name="nvtx-range",
    summary="an NVTX mark through torch.cuda.nvtx",
    keywords=("nvtx",),
    roots=("torch",),
    site=Site.NAME,
)
_MARKS = {name: name for name in ("range_push", "range_pop", "range_start", "range_end", "mark")} | {
    "range": "annotate"
}


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    if not name.startswith("torch.cuda.nvtx"):
        return
    last = name.removeprefix("torch.cuda.nvtx").removeprefix(".")
    new = f"torch.npu.mstx.{_MARKS[last]}" if last in _MARKS else "torch.npu.mstx"
    message = f"`{name}` becomes `{new}`"
    call = file.parent(node)
    spelled = torch_rows.respell(file, node, new)
    if spelled is None or targets.is_agnostic(file) or last not in _MARKS or not _fits(last, node, call, file):
        fix = f"use `{new}`, whose first parameter is `message`"
        yield file.report(RULE, node, State.HAND, f"`{name}` is for NVIDIA's tools", fix, subject=name)
        return
    yield file.rewrite(
        RULE, node, message, *spelled.edits, needs=(npu.IMPORT, *spelled.needs), subject=name, styles=WRITTEN_STYLES
    )


def visit_ImportFrom(node: ast.ImportFrom, file: PyFile) -> Iterator[Finding]:
    if node.level or node.module not in ("torch.cuda", "torch.cuda.nvtx"):
        return
    names = [alias for alias in node.names if node.module == "torch.cuda.nvtx" or alias.name == "nvtx"]
    whole = len(names) == len(node.names)
    for at in [node] if whole else names:
        message = "`torch.cuda.nvtx` imports on any machine; its uses are changed"
        yield file.report(RULE, at, State.BENIGN, message, subject="torch.cuda.nvtx")


def visit_Import(node: ast.Import, file: PyFile) -> Iterator[Finding]:
    for alias in node.names:
        if alias.name == "torch.cuda.nvtx":
            message = "`torch.cuda.nvtx` imports on any machine; its uses are changed"
            yield file.report(RULE, alias, State.BENIGN, message, subject=alias.name)


def _fits(last: str, node: ast.expr, call: ast.AST | None, file: PyFile) -> bool:
    """One plain text at most, given by position: the two libraries name and use the others differently."""
    if not isinstance(call, ast.Call) or call.func is not node:
        return last != "range"
    wanted = 0 if last == "range_pop" else 1
    return len(call.args) == wanted and not call.keywords and not file.has_stars(call)
