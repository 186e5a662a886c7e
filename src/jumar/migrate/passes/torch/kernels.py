"""Tests for CUDA tensors before a call of a compiled CUDA kernel.

With `if x.is_cuda: kernel(x)` left as it is, NPU tensors take the other branch, which is the right one until the
kernel is ported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import NamedTuple

from jumar.migrate.pyfile import PyFile

_KERNEL = re.compile(r"(^|[._])(_C|_ext|ext|cuda|kernels?|ops_cuda)($|\.)|_cuda$|_cuda\.|_ext\.|_C\.")


class Guard(NamedTuple):
    test: ast.expr
    kernel: str
    """The dotted name of what is called behind the test."""
    has_way_out: bool
    """Do other tensors go somewhere else, or fail?"""


def guard_of(node: ast.Attribute, file: PyFile) -> Guard | None:
    """The guard whose test holds this `x.is_cuda`, when a compiled kernel is called behind it."""
    inner: ast.AST = node
    for outer in file.ancestors(node):
        if isinstance(outer, (ast.If, ast.IfExp)) and outer.test is inner:
            body = outer.body if isinstance(outer, ast.If) else [outer.body]
            kernel = _called(body, file)
            return Guard(outer.test, kernel, True) if kernel else None
        if isinstance(outer, ast.Assert) and outer.test is inner:
            function = file.index.function_scope(outer)
            body = function.body if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) else []
            kernel = _called(body, file)
            return Guard(outer.test, kernel, False) if kernel else None
        if isinstance(outer, (ast.stmt, ast.Lambda)):
            return None
        inner = outer
    return None


def _called(body: Sequence[ast.AST], file: PyFile) -> str | None:
    for statement in body:
        for call in ast.walk(statement):
            name = file.name(call.func) if isinstance(call, ast.Call) else None
            if name is not None and not name.startswith("torch.") and _KERNEL.search(name):
                return name
    return None
