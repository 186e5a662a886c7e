"""`if x.is_cuda:` in front of a compiled CUDA kernel: with NPU tensors the branch must not be taken."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from jumar.core.finding import Finding, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT174",
    name="cuda-extension-guard",
    summary="a test for CUDA tensors in front of a compiled CUDA kernel",
    keywords=("is_cuda",),
)
_KERNEL = re.compile(r"(^|[._])(_C|_ext|ext|cuda|kernels?|ops_cuda)($|\.)|_cuda$|_cuda\.|_ext\.|_C\.")


def visit_If(node: ast.If, file: PyFile) -> Iterator[Finding]:
    yield from _guard(node.test, node.body, file)


def visit_IfExp(node: ast.IfExp, file: PyFile) -> Iterator[Finding]:
    yield from _guard(node.test, [node.body], file)


def visit_Assert(node: ast.Assert, file: PyFile) -> Iterator[Finding]:
    """`assert x.is_cuda` in a function that goes on to call a kernel."""
    function = file.index.function_scope(node)
    if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield from _guard(node.test, function.body, file)


def _guard(test: ast.expr, body: Sequence[ast.AST], file: PyFile) -> Iterator[Finding]:
    if not any(isinstance(part, ast.Attribute) and part.attr == "is_cuda" for part in ast.walk(test)):
        return
    for statement in body:
        for call in ast.walk(statement):
            name = file.name(call.func) if isinstance(call, ast.Call) else None
            if name is not None and not name.startswith("torch.") and _KERNEL.search(name):
                message = f"this lets tensors of the device into the CUDA kernel `{name}`"
                fix = "send NPU tensors to the other branch (plain torch), or port the kernel to Ascend C"
                yield file.report(RULE, test, State.HAND, message, fix, subject=name)
                return
