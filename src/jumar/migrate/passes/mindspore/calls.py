"""Edits on the arguments of a call, and the spelling of `mindspore` in a file."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from jumar.core.edit import Edit
from jumar.migrate import imports, lines
from jumar.migrate.pyfile import PyFile

CONTEXT = ("mindspore.context.set_context", "mindspore.set_context")
PARALLEL = ("mindspore.context.set_auto_parallel_context", "mindspore.set_auto_parallel_context")
_COMMA = re.compile(rb"[ \t]*,[ \t]*(?:\r?\n[ \t]*)?")


def uses_mindspore(file: PyFile) -> bool:
    return file.imports("mindspore")


def is_call(file: PyFile, call: ast.Call, names: Collection[str]) -> bool:
    return (file.name(call.func) or "") in names


def resized(file: PyFile, node: ast.expr) -> ast.Call | None:
    """The whole of `ResizeBilinear(size, …)(x)`, of which `node` is the name: what MS118 replaces."""
    if (file.name(node) or "") not in ("mindspore.ops.ResizeBilinear", "mindspore.ops.operations.ResizeBilinear"):
        return None
    made = file.parent(node)
    called = file.parent(made) if isinstance(made, ast.Call) and made.func is node else None
    if not isinstance(made, ast.Call) or not isinstance(called, ast.Call) or called.func is not made:
        return None
    plain = not any(isinstance(one, ast.Starred) for one in (*made.args, *called.args))
    plain &= all(keyword.arg is not None for keyword in made.keywords)
    fits = plain and len(called.args) == 1 and not called.keywords and file.argument(made, 0, "size") is not None
    return called if fits and isinstance(node, ast.Attribute) else None


def without(file: PyFile, call: ast.Call, dropped: Collection[ast.expr | ast.keyword]) -> list[Edit] | None:
    """Take arguments out of a call with their commas; None where a comment would be lost."""
    data = file.source.data
    arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    items = sorted(arguments, key=lambda item: file.source.span(item)[0])
    spans: list[tuple[int, int]] = []
    run: list[ast.expr | ast.keyword] = []
    for item in [*items, None]:
        if item is not None and item in dropped:
            run.append(item)
            continue
        if run:
            start, end = file.source.span(run[0])[0], file.source.span(run[-1])[1]
            if run[0] is items[0]:
                comma = _COMMA.match(data, end)
                end = comma.end() if comma else end
            else:
                start = _comma_before(data, start)
            spans.append((start, end))
        run = []
    if any(start < 0 or b"#" in data[start:end] for start, end in spans):
        return None
    return [Edit(start, end, b"") for start, end in spans]


def _comma_before(data: bytes, at: int) -> int:
    head = data[:at].rstrip()
    return len(head) - 1 if head.endswith(b",") else -1


def root(file: PyFile, module: str = "mindspore") -> tuple[str, list[Edit]]:
    """How this file spells a module at the top level, and the import to add where it does not."""
    for local, bindings in file.index.module.bindings.items():
        if bindings and all(binding.target == module for binding in bindings):
            return local, []
    return module, imports.insert(file, [f"import {module}"], after="mindspore")


def instead(file: PyFile, call: ast.Call, moved: Collection[ast.keyword], statements: list[str]) -> list[Edit] | None:
    """Take keywords out of a call that is a statement, and put statements in front of what is left of it."""
    statement = file.statement(call)
    if not isinstance(statement, ast.Expr) or statement.value is not call:
        return None
    if len(moved) == len(call.keywords) and not call.args:
        space = lines.indent(file, statement)
        if space is None:
            return None
        if not statements:
            gone = removed(file, statement)
            return None if gone is None else [gone]
        joint = (file.source.newline + space).decode()
        return [file.replace(statement, joint.join(statements))]
    edits = without(file, call, moved)
    if edits is None or not statements:
        return edits
    before = lines.before(file, statement, statements)
    return None if before is None else [before, *edits]


def removed(file: PyFile, statement: ast.stmt) -> Edit | None:
    """Take a statement out with its line, or leave `pass` where its block would be empty."""
    if lines.indent(file, statement) is None or not lines.ends_line(file, statement) or statement.end_lineno is None:
        return None
    parent = file.parent(statement)
    if any(getattr(parent, name, None) == [statement] for name in ("body", "orelse", "finalbody")):
        return file.replace(statement, "pass")
    starts = file.source.starts
    end = starts[statement.end_lineno] if statement.end_lineno < len(starts) else len(file.source.data)
    return Edit(starts[statement.lineno - 1], end, b"")
