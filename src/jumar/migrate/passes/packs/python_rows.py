"""Rows of a pack in Python code: names of the library where they are used, arguments of its calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.compat import zip
from jumar.core.edit import Edit
from jumar.core.finding import Finding
from jumar.migrate.passes.packs import said
from jumar.migrate.passes.packs.joined import joined
from jumar.migrate.passes.packs.rows import Pack, Row
from jumar.migrate.pyfile import PyFile

_NOTHING = ("0", "0.0", "None", "False")
"""Values that ask for nothing."""


def visit_name(pack: Pack, node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    row = _row(pack, name)
    if (
        row is not None
        and name.partition(".")[0] not in file.settings.facts.own_modules
        and not _runs_nothing(node, file)
    ):
        yield from said.once(pack, row, file, node, f"`{name}`")


def visit_call(pack: Pack, node: ast.Call, file: PyFile) -> Iterator[Finding]:
    func = node.func
    word = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    rows = pack.arguments.get(word) or _imported_as(pack, func, file)
    method = pack.names.get(f".{word}")
    if not (rows or method) or not uses(pack, file):
        return
    if method is not None and isinstance(func, ast.Attribute) and file.name(func) is None:
        yield from said.once(pack, method, file, func, f"`.{word}()`")
    spoken: set[str] = set()
    for row in rows:
        keyword = file.keyword(node, row.name)
        if row.name in spoken or not _is_meant(row, func, file):
            continue
        if keyword is None and row.missing and not file.has_stars(node):
            yield from said.once(pack, row, file, func, f"`{_short(file.text(func))}` without `{row.name}`")
        elif keyword is not None and not row.missing and _has_value(row, keyword.value, file):
            yield from _argument(pack, row, node, keyword, file)
        else:
            continue
        spoken.add(row.name)


def uses(pack: Pack, file: PyFile) -> bool:
    """Does the file import the library itself, and not a module of the project with the same name?"""
    own = file.settings.facts.own_modules
    return any(file.imports(package) and package not in own for package in pack.packages)


def literal(node: ast.expr, file: PyFile) -> str | None:
    """The value as text, when it is a constant or a name that holds one and nothing else."""
    if isinstance(node, ast.Name):
        found = file.index.scope[node].lookup(node.id)
        bindings = found[1] if found is not None else []
        if len(bindings) == 1 and isinstance(bindings[0].value, ast.Constant):
            return str(bindings[0].value.value)
    return str(node.value) if isinstance(node, ast.Constant) else None


def _argument(pack: Pack, row: Row, call: ast.Call, keyword: ast.keyword, file: PyFile) -> Iterator[Finding]:
    what = f"`{row.name}={_short(file.text(keyword.value))}`"
    edits = _edits(row, call, keyword, file) if row.new is not None else None
    if edits is None:
        yield from said.once(pack, row, file, keyword, what)
        return
    shown = _short((row.new or "").replace("{value}", file.text(keyword.value)))
    yield said.about(pack, row, file, keyword, what, *edits, shown=shown)


def _edits(row: Row, call: ast.Call, keyword: ast.keyword, file: PyFile) -> tuple[Edit, ...] | None:
    """What is written in place of an argument; a dictionary that the call has already takes it in."""
    if keyword in file.lost or keyword.value in file.lost or _may_be_none(keyword.value, file):
        return None
    new = (row.new or "").replace("{value}", file.text(keyword.value))
    name, _, value = new.partition("=")
    if name == row.name or file.keyword(call, name) is None:
        return (Edit(*file.source.span(keyword), new.encode()),)
    return joined(call, keyword, name, value[1:-1], file) if value[:1] == "{" else None


def _may_be_none(node: ast.expr, file: PyFile) -> bool:
    """Is it a parameter whose default is None? What takes None as it is may not take it inside something else."""
    found = file.index.scope[node].lookup(node.id) if isinstance(node, ast.Name) else None
    function = found[0].node if found is not None else None
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    pairs = [*zip(reversed(positional), reversed(given.defaults)),
             *zip(given.kwonlyargs, given.kw_defaults, strict=True)]  # fmt: skip
    return any(
        isinstance(node, ast.Name) and name.arg == node.id and isinstance(value, ast.Constant) and value.value is None
        for name, value in pairs
    )


def _runs_nothing(node: ast.expr, file: PyFile) -> bool:
    """Is it a second name for it, or named in an annotation or an `isinstance` only?"""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return True
    below: ast.AST = node
    for at in file.ancestors(node):
        if isinstance(at, ast.Call) and below in at.args:
            return isinstance(at.func, ast.Name) and at.func.id in ("isinstance", "issubclass")
        if isinstance(at, ast.arg) or (isinstance(at, ast.AnnAssign) and below is at.annotation):
            return True
        if isinstance(at, ast.stmt):
            return isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)) and below is at.returns
        below = at
    return False


def _row(pack: Pack, name: str) -> Row | None:
    """The row of a dotted name or of the longest name above it."""
    while name:
        if name in pack.names:
            return pack.names[name]
        name = name.rpartition(".")[0]
    return None


def _imported_as(pack: Pack, func: ast.expr, file: PyFile) -> list[Row]:
    """The rows of a callable that was imported under another name."""
    name = file.name(func) if isinstance(func, ast.Name) else None
    return pack.arguments.get(name.rpartition(".")[2], []) if name else []


def _is_meant(row: Row, func: ast.expr, file: PyFile) -> bool:
    name = file.name(func)
    for call in row.calls:
        if call.startswith("."):
            if name is None and isinstance(func, ast.Attribute) and func.attr == call[1:]:
                return True
        elif name is not None and (name == call or _same(name, call)):
            return True
    return False


def _same(name: str, call: str) -> bool:
    """Libraries show the same class under several modules: `ray.train.ScalingConfig`, `ray.air.ScalingConfig`."""
    return name.partition(".")[0] == call.partition(".")[0] and name.rpartition(".")[2] == call.rpartition(".")[2]


def _has_value(row: Row, node: ast.expr, file: PyFile) -> bool:
    value = literal(node, file)
    return value in row.values if row.values else value not in _NOTHING


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:57]}…"
