"""A class of the project that defines `cuda` itself: it gets the name `npu` too, since callers now ask for that."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate.document import Span
from jumar.migrate.passes.torch import owners
from jumar.migrate.passes.torch.styles import runtime
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.migrate.settings import Style

RULE = Rule(
    id="PT112",
    name="own-cuda-method",
    summary="a class of the project that defines `cuda` itself",
    keywords=("def cuda",),
)


def visit_ClassDef(node: ast.ClassDef, file: PyFile) -> Iterator[Finding]:
    names = {item.name for item in node.body if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))}
    for method in node.body:
        if not isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) or method.name != "cuda":
            continue
        at = _place(method, file)
        if not owners.moves(file, method) or method.decorator_list:
            yield file.report(RULE, at, State.BENIGN, f"`{node.name}.cuda` is a method of this project")
        elif file.settings.to is Style.IMPORT:
            yield file.rewrite(RULE, at, f"what `{node.name}.cuda` calls is replaced{runtime.DONE.note}")
        elif file.settings.to is Style.AGNOSTIC or "npu" in names or _has_alias(node):
            message = f"`{node.name}.cuda` of this project keeps its name; what it calls is migrated"
            yield file.report(RULE, at, State.BENIGN, message)
        else:
            message = f"`{node.name}.cuda` of this project is also called `npu` now"
            yield file.rewrite(RULE, at, message, _alias(method, file))


def _place(method: ast.FunctionDef | ast.AsyncFunctionDef, file: PyFile) -> Span:
    start, end = file.source.span(method)
    at = file.source.data.index(b"cuda", file.source.data.index(b"def", start), end)
    return at, at + len(b"cuda")


def _has_alias(node: ast.ClassDef) -> bool:
    return any(
        isinstance(item, ast.Assign) and any(isinstance(name, ast.Name) and name.id == "npu" for name in item.targets)
        for item in node.body
    )


def _alias(method: ast.FunctionDef | ast.AsyncFunctionDef, file: PyFile) -> Edit:
    """`npu = cuda` on a line of its own behind the method."""
    source = file.source
    start, end = source.span(method)
    line = source.line_of(end)
    at = source.starts[line - 1] + len(source.line_text(line))
    indent = source.data[source.starts[method.lineno - 1] : start]
    return Edit(at, at, source.newline * 2 + indent + b"npu = cuda")
