"""Values under a name: assignments, fields, dictionaries, holders of settings, defaults of parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.compat import zip
from jumar.migrate.passes.cloud import helper
from jumar.migrate.pyfile import PyFile

_HOLDERS = {"dict", "edict", "EasyDict", "ed", "Namespace", "Config", "easydict.EasyDict", "argparse.Namespace"}


def pairs(file: PyFile, node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names and values of one node."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        yield _name(node.targets[0]), node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield _name(node.target), node.value
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                yield str(key.value), value
    elif isinstance(node, ast.Call):
        if file.text(node.func) in _HOLDERS and not helper.is_call(file, node):
            yield from ((keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg)
    elif isinstance(node, ast.arguments):
        plain = [*node.posonlyargs, *node.args]
        for arg, value in zip(reversed(plain), reversed(node.defaults)):
            yield arg.arg, value


def _name(target: ast.expr) -> str:
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        return str(target.slice.value)
    return target.attr if isinstance(target, ast.Attribute) else ""
