"""A name of torch.cuda inside a string: a tensor type, a quoted annotation, a target of `mock.patch`, code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate.passes.torch import context, targets
from jumar.migrate.passes.torch.python.default_tensor_type import is_default_type
from jumar.migrate.passes.torch.styles.change import respell
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.migrate.settings import Style

RULE = Rule(
    id="PT108",
    name="cuda-in-text",
    summary="a name of torch.cuda inside a string",
    keywords=("cuda",),
)
_TYPE = re.compile(r"torch\.cuda\.(\w+Tensor)")
_NAME = re.compile(r"torch\.cuda(?:\.\w+)*")
_NAMED = re.compile(r"\btorch\.cuda(?:\.\w+)+")
_PATCHERS = {"patch", "import_module", "locate", "resolve", "setattr", "delattr", "__import__", "object"}


def visit_Constant(node: ast.Constant, file: PyFile) -> Iterator[Finding]:
    value = node.value
    if not isinstance(value, str) or "torch.cuda" not in value or node in file.docstrings:
        return
    if is_default_type(node, file):
        return
    if match := _TYPE.fullmatch(value):
        known = targets.row_for(value, file).npu is not None
        change = targets.style(file).type_string(file, node) if known else None
        fix = f"use `dtype=` and `device=` instead of `{match.group(1)}`"
        yield file.rewrite(RULE, node, f'tensor type "{value}"', change, otherwise=fix, subject=value)
    elif _is_annotation(node, file):
        yield _annotation(node, value, file)
    elif _NAME.fullmatch(value):
        yield _name(node, value, file)
    elif not context.is_message(file, node) and "(" in value:
        fix = "write the NPU code into this string"
        yield file.report(RULE, node, State.HAND, "code for CUDA inside a string", fix)


def _annotation(node: ast.Constant, value: str, file: PyFile) -> Finding:
    """`x: "torch.cuda.Stream | None"`: each name by the table, or none of them."""
    fix = "write the NPU types here"
    if file.settings.to is Style.IMPORT:
        return file.report(RULE, node, State.BENIGN, "a quoted annotation is not evaluated")
    edits: list[Edit] = []
    for name in sorted(set(_NAMED.findall(value)), key=len, reverse=True):
        new = targets.new_name(targets.row_for(name, file), file)
        found = file.in_string(node, name, new) if new else None
        if new is None or found is None or not new.startswith("torch."):
            return file.report(RULE, node, State.HAND, f'quoted annotation "{value}"', fix)
        edits += [edit for edit in found if not any(edit.start < e.end and e.start < edit.end for e in edits)]
    return file.rewrite(RULE, node, f'quoted annotation "{value}"', *edits, needs=targets.style(file).needs(file))


def _name(node: ast.Constant, value: str, file: PyFile) -> Finding:
    """A dotted name as a string: changed where it is surely looked up as a name."""
    up = file.parent(node)
    called = ""
    if isinstance(up, ast.Call):
        called = up.func.attr if isinstance(up.func, ast.Attribute) else getattr(up.func, "id", "")
    new = targets.new_name(targets.row_for(value, file), file)
    if called not in _PATCHERS or new is None or file.settings.to is not Style.NPU:
        fix = f'write "{new}" if the name is looked up' if new else "there is no counterpart on an NPU"
        return file.report(RULE, node, State.HAND, f'the name "{value}" as a string', fix, value)
    module, last = targets.style(file).origin(new, file)
    edits = respell(file, node, value, f"{module}.{last}")
    if edits is None:
        return file.report(RULE, node, State.HAND, f'the name "{value}" as a string', f'write "{new}" here', value)
    return file.rewrite(RULE, node, f'the name "{value}" becomes "{module}.{last}"', *edits, subject=value)


def _is_annotation(node: ast.Constant, file: PyFile) -> bool:
    at: ast.AST = node
    up = file.parent(at)
    while isinstance(up, (ast.Subscript, ast.Tuple, ast.BinOp)):
        at, up = up, file.parent(up)
    if isinstance(up, (ast.arg, ast.AnnAssign)):
        return up.annotation is at
    return isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)) and up.returns is at
