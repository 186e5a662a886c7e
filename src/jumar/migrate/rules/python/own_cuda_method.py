"""A class of the project that overrides `cuda` of a torch module: `.npu()` does not come by it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT112",
    name="own-cuda-method",
    summary="a class of the project that defines `cuda` itself",
    keywords=("def cuda",),
)


def visit_ClassDef(node: ast.ClassDef, file: PyFile) -> Iterator[Finding]:
    for statement in node.body:
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) or statement.name != "cuda":
            continue
        start, end = file.source.span(statement)
        at = file.source.data.index(b"cuda", file.source.data.index(b"def", start), end)
        if _extends_torch(node, file):
            fix = "add `npu = cuda` below the method, and check what it does to the device"
            message = f"`{node.name}.cuda` overrides the method of torch, which `.npu()` does not call"
            yield file.report(RULE, (at, at + 4), State.HAND, message, fix)
        else:
            yield file.report(RULE, (at, at + 4), State.BENIGN, f"`{node.name}.cuda` is a method of this project")


def _extends_torch(node: ast.ClassDef, file: PyFile) -> bool:
    return any(
        (file.name(base) or "").startswith(("torch.", "pytorch_lightning.", "lightning.")) for base in node.bases
    )
