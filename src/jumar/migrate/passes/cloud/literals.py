"""Path literals under a telling name: `data_path = "./data"`, `{"save_dir": "out"}`, a parameter's default."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from jumar.migrate.passes.cloud import holders
from jumar.migrate.passes.cloud.options import kind_of_name
from jumar.migrate.pyfile import PyFile

_PATH = re.compile(r"[\w.~/\\+-]+")
_SHORT = re.compile(r"root|(?!save|out)(?:\w+_)?(?:data|dataset|trainset)")


class Named(NamedTuple):
    name: str
    kind: str
    node: ast.Constant


def named(file: PyFile, nodes: list[ast.AST]) -> list[Named]:
    """Every such literal of a file."""
    found = []
    for node in nodes:
        for name, value in holders.pairs(file, node):
            kind = kind_of_name(name) or (
                "data" if _SHORT.fullmatch(name.lower()) and "/" in file.text(value) else None
            )
            if not isinstance(value, ast.Constant) or value in file.lost:
                continue
            if kind is not None and is_path(value):
                found.append(Named(name, kind, value))
            elif kind in (None, "results") and _is_written(file, name) and is_text(value):
                found.append(Named(name, "results", value))
    return found


def _is_written(file: PyFile, name: str) -> bool:
    """Does the program write to a path that it finds under this name, and only that?"""
    cloud = file.settings.cloud
    said = cloud.evidence.get(name, frozenset()) if cloud is not None else frozenset()
    return "results" in said and "option" in said and not said & {"data", "start", "word"}


def is_text(node: ast.expr) -> bool:
    """Can this literal be a path where the call says that it is one? A bare word can."""
    text = node.value if isinstance(node, ast.Constant) else None
    return isinstance(text, str) and _PATH.fullmatch(text) is not None and not text.startswith(("/dev/", "-"))


def is_path(node: ast.expr) -> bool:
    """Can this literal be a path that is meant to be found or made on the machine at hand?"""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    text = node.value
    return _PATH.fullmatch(text) is not None and ("/" in text or "." in text) and not text.startswith("/dev/")
