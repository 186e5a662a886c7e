"""Path literals under a telling name: `data_path = "./data"`, `{"save_dir": "out"}`, a parameter's default."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from jumar.migrate.passes.cloud import helper
from jumar.migrate.passes.cloud.options import kind_of_name
from jumar.migrate.pyfile import PyFile

_PATH = re.compile(r"[\w.~/\\+-]+")
_SHORT = re.compile(r"root|(?!save|out)(?:\w+_)?(?:data|dataset|trainset)")
_HOLDERS = {"dict", "edict", "EasyDict", "ed", "Namespace", "Config", "easydict.EasyDict", "argparse.Namespace"}


class Named(NamedTuple):
    name: str
    kind: str
    node: ast.Constant


def named(file: PyFile, nodes: list[ast.AST]) -> list[Named]:
    """Every such literal of a file."""
    found = []
    for node in nodes:
        for name, value in _pairs(file, node):
            kind = kind_of_name(name) or (
                "data" if _SHORT.fullmatch(name.lower()) and "/" in file.text(value) else None
            )
            if kind is not None and isinstance(value, ast.Constant) and is_path(value) and value not in file.lost:
                found.append(Named(name, kind, value))
    return found


def is_path(node: ast.expr) -> bool:
    """Can this literal be a path that is meant to be found or made on the machine at hand?"""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    text = node.value
    return _PATH.fullmatch(text) is not None and ("/" in text or "." in text) and not text.startswith("/dev/")


def _pairs(file: PyFile, node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
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
        for arg, value in zip(reversed(plain), reversed(node.defaults), strict=False):
            yield arg.arg, value


def _name(target: ast.expr) -> str:
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        return str(target.slice.value)
    return target.attr if isinstance(target, ast.Attribute) else ""
