"""The texts that people read, as templates: from the calls, yields and rows of the sources, and from the tables."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from message_words import is_prose

SOURCES = Path(__file__).resolve().parents[1] / "src" / "jumar"
DOCUMENTED = ("FIELDS", "KEYS")
"""Tables that only the reference pages show."""
_PATTERNS = ("compile", "search", "match", "fullmatch", "sub", "split")
_LOOKUPS = ("get", "pop", "startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "getenv")
"""Functions whose first argument is looked for, not shown."""
_MOST = 16
"""Variants of one f-string; one with more choices is taken with places instead."""


def templates(node: ast.expr) -> list[str]:
    """Every text that an expression can be, with `{}` for values; empty for what is no text."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        return _joined(node)
    if isinstance(node, ast.IfExp):
        return [*templates(node.body), *templates(node.orelse)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = templates(node.left) or ["{}"], templates(node.right) or ["{}"]
        return [a + b for a, b in itertools.product(left, right)]
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        return [text for value in node.values for text in templates(value)]
    return []


def _joined(node: ast.JoinedStr) -> list[str]:
    parts: list[list[str]] = []
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts.append([str(value.value)])
            continue
        assert isinstance(value, ast.FormattedValue)
        inner = value.value
        choices = templates(inner) if isinstance(inner, ast.IfExp) and value.format_spec is None else []
        whole = choices and all(_is_known(branch) for branch in (inner.body, inner.orelse))  # type: ignore[attr-defined]
        parts.append(choices if whole else ["{}"])
    number = 1
    for part in parts:
        number *= len(part)
    if number > _MOST:
        parts = [part if len(part) == 1 else ["{}"] for part in parts]
    return ["".join(chosen) for chosen in itertools.product(*parts)]


def _is_known(node: ast.expr) -> bool:
    return bool(templates(node))


def numbered(text: str) -> str:
    """`{}` become `{0}`, `{1}` and so on."""
    counter = itertools.count()
    return re.sub(r"\{\}", lambda _: f"{{{next(counter)}}}", text)


def of_module(path: Path) -> Iterator[tuple[str, int]]:
    """Texts of a module that read like words for people, with their lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in _outer(tree):
        for text in templates(node):
            if is_prose(text):
                yield numbered(text), node.lineno


def _outer(node: ast.AST) -> Iterator[ast.expr]:
    """The outermost expressions that are texts; not docstrings, patterns, and what only looks for words."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        if _is_lookup(node, child) or _is_documentation(child):
            continue
        if nouns := list(_counted(child)):
            yield from nouns
            continue
        if isinstance(child, ast.keyword) and child.arg in ("metavar", "keywords", "pattern"):
            continue
        if isinstance(child, (ast.JoinedStr, ast.Constant, ast.IfExp, ast.BinOp)) and any(
            text.replace("{}", "") for text in templates(child)
        ):
            yield child
            yield from _values(child)
        else:
            yield from _outer(child)


def _is_lookup(node: ast.AST, child: ast.AST) -> bool:
    """Is it a pattern, a key or a beginning?"""
    if isinstance(node, ast.Subscript):
        return child is node.slice
    if isinstance(child, ast.Compare) or (isinstance(child, ast.Call) and _called(child) in _PATTERNS):
        return True
    return isinstance(node, ast.Call) and _called(node) in _LOOKUPS and child in node.args[:1]


def _is_documentation(node: ast.AST) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return any(isinstance(name, ast.Name) and name.id.endswith(DOCUMENTED) for name in targets)


def _values(node: ast.AST) -> Iterator[ast.expr]:
    """Texts inside the values of an f-string, such as the words of a choice."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.FormattedValue):
            yield from (found for found in _outer(inner) if not isinstance(found, ast.IfExp))


def _counted(node: ast.AST) -> Iterator[ast.expr]:
    """`counted(n, "file")` is "{} file" and "{} files"."""
    if isinstance(node, ast.Call) and _called(node) in ("counted", "count") and len(node.args) > 1:
        for one in templates(node.args[1]):
            many = templates(node.args[2]) if len(node.args) > 2 else [f"{one}s"]
            for noun in (one, *many):
                found = ast.Constant(f"{{}} {noun}")
                yield ast.copy_location(found, node)


def _called(node: ast.Call) -> str:
    function = node.func
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def of_table(content: Any, fields: set[str], key: str = "") -> Iterator[str]:
    """The values of these fields, however deep."""
    if isinstance(content, dict):
        for name, value in content.items():
            yield from of_table(value, fields, name)
    elif isinstance(content, list):
        for value in content:
            yield from of_table(value, fields, key)
    elif isinstance(content, str) and (key in fields or "*" in fields):
        yield content
