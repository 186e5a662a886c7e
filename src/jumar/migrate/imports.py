"""Where a new import goes: after the import it belongs to, or after the docstring and the `__future__` lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from jumar.core.edit import Edit
from jumar.migrate.pyfile import PyFile


def insert(file: PyFile, statements: list[str], after: str, lines: Collection[int] = ()) -> list[Edit]:
    """The edits that add the missing statements behind the import of a package; none when the file has them all.

    Where only functions import the package, the first of them gets the statements; with `lines`, every one that holds
    one of these lines does.
    """
    anchor = _first_import(file, after)
    late = _late_imports(file, after, lines) if anchor is None and lines else []
    if late:
        return [edit for one in late for edit in _in_function(file, one, statements)]
    missing = [statement for statement in statements if not _has(file, statement, after)]
    if not missing:
        return []
    if anchor is not None:
        return [_behind(file, anchor, missing)]
    first = _first_import(file, after, inside=True)
    if first is None:
        return [_at_top(file, missing)]
    return [_beside(file, first, missing)]


def _late_imports(file: PyFile, package: str, lines: Collection[int]) -> list[ast.stmt]:
    """The first import of a package in each function that holds one of the lines."""
    found: dict[ast.AST, ast.stmt] = {}
    for node in sorted(file.index.imports, key=lambda node: node.lineno):
        function = file.index.function_scope(node)
        if not _brings(node, package) or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        last = function.end_lineno or function.lineno
        if any(function.lineno <= line <= last for line in lines):
            found.setdefault(function, node)
    return list(found.values())


def _in_function(file: PyFile, anchor: ast.stmt, statements: list[str]) -> list[Edit]:
    function = file.index.function_scope(anchor)
    known = {ast.unparse(node) for node in file.index.imports if file.index.function_scope(node) is function}
    missing = [statement for statement in statements if statement not in known]
    return [_beside(file, anchor, missing)] if missing else []


def _beside(file: PyFile, late: ast.stmt, statements: list[str]) -> Edit:
    return _behind(file, late, statements) if isinstance(late, ast.Import) else _before(file, late, statements)


def _has(file: PyFile, statement: str, after: str) -> bool:
    wanted = ast.parse(statement).body[0]
    late = _first_import(file, after) is None
    for node in file.index.imports:
        if not late and file.index.parent.get(node) is not file.tree and not _is_guarded(file, node):
            continue
        if type(node) is not type(wanted):
            continue
        if isinstance(node, ast.Import) and isinstance(wanted, ast.Import):
            if any(alias.name == wanted.names[0].name and not alias.asname for alias in node.names):
                return True
        elif isinstance(node, ast.ImportFrom) and isinstance(wanted, ast.ImportFrom):
            have = {(alias.name, alias.asname) for alias in node.names}
            if node.module == wanted.module and {(a.name, a.asname) for a in wanted.names} <= have:
                return True
    return False


def _is_guarded(file: PyFile, node: ast.stmt) -> bool:
    """Does the import stand at module level inside `try` or `if`?"""
    return all(isinstance(up, (ast.Try, ast.If, ast.ExceptHandler, ast.Module)) for up in file.ancestors(node))


def _first_import(file: PyFile, package: str, *, inside: bool = False) -> ast.stmt | None:
    """The first import of a package at module level, or `inside` a function: who imports late has a reason."""
    for node in sorted(file.index.imports, key=lambda node: node.lineno):
        if _brings(node, package) and (inside or _is_guarded(file, node)):
            return node
    return None


def _brings(node: ast.Import | ast.ImportFrom, package: str) -> bool:
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    level = node.level if isinstance(node, ast.ImportFrom) else 0
    return level == 0 and any(name.split(".")[0] == package for name in names)


def _before(file: PyFile, anchor: ast.stmt, statements: list[str]) -> Edit:
    """In front of a `from torch… import` inside a function, which may already ask for a name that torch_npu adds."""
    start, _ = file.source.span(anchor)
    lead = file.source.data[file.source.starts[anchor.lineno - 1] : start]
    if lead.strip():
        return Edit(start, start, b"".join(statement.encode() + b"; " for statement in statements))
    return Edit(start, start, b"".join(statement.encode() + file.source.newline + lead for statement in statements))


def _behind(file: PyFile, anchor: ast.stmt, statements: list[str]) -> Edit:
    source = file.source
    start, end = source.span(anchor)
    line = source.line_text(source.line_of(start))
    indent = re.match(rb"[ \t\f]*", line)
    assert indent is not None
    before = source.data[source.starts[anchor.lineno - 1] : start]
    rest = source.data[end : _line_end(file, end)]
    if before.strip() or rest.lstrip().startswith(b";"):
        # `try: import torch` or `import torch; import os`: stay on the line.
        return Edit(end, end, b"".join(b"; " + statement.encode() for statement in statements))
    at = _line_end(file, end)
    lead = indent.group(0)
    return Edit(at, at, b"".join(source.newline + lead + statement.encode() for statement in statements))


def _line_end(file: PyFile, offset: int) -> int:
    line = file.source.line_of(offset)
    return file.source.starts[line - 1] + len(file.source.line_text(line))


def _at_top(file: PyFile, statements: list[str]) -> Edit:
    """Behind shebang, comments at the top, docstring and `__future__` imports."""
    source = file.source
    last: ast.stmt | None = None
    for position, node in enumerate(file.tree.body):
        is_docstring = position == 0 and isinstance(node, ast.Expr) and node.value in file.docstrings
        if is_docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            last = node
        else:
            break
    if last is not None:
        return _behind(file, last, statements)
    line = 1
    while line < len(source.starts) and re.match(rb"[ \t]*(#|$)", source.line_text(line)):
        if file.tree.body and line >= file.tree.body[0].lineno:
            break
        line += 1
    at = source.starts[min(line, len(source.starts)) - 1]
    if at and source.data[at - 1 : at] not in (b"\n", b"\r"):
        return Edit(at, at, b"".join(source.newline + statement.encode() for statement in statements))
    return Edit(at, at, b"".join(statement.encode() + source.newline for statement in statements))
