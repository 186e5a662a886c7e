"""The module that comes beside an adapted script, and how calls of it are spelled."""

from __future__ import annotations

import ast
import os

from jumar.core.source import Source
from jumar.migrate.pyfile import PyFile
from jumar.migrate.settings import Cloud
from jumar.tables.load import text

NAME = "jumar_cloud"
NEEDS = (f"import {NAME}",)


def files(source: Source, data: bytes, cloud: Cloud) -> tuple[tuple[str, bytes], ...]:
    """The helper beside the boot file, when this text uses it; by a path relative to this file's folder."""
    if NAME.encode() not in data:
        return ()
    folder = os.path.relpath(os.path.dirname(cloud.boot) or ".", os.path.dirname(source.path) or ".")
    return ((os.path.join(folder, f"{NAME}.py") if folder != "." else f"{NAME}.py", text(f"{NAME}.py.txt")),)


def is_call(file: PyFile, node: ast.AST, *names: str) -> bool:
    """Is this a call of the helper, of one of these functions if any are named?"""
    if not isinstance(node, ast.Call):
        return False
    name = file.name(node.func) or ""
    return name.startswith(f"{NAME}.") and (not names or name.rpartition(".")[2] in names)


def is_inside_call(file: PyFile, node: ast.AST) -> bool:
    """Does the expression stand inside a call of the helper?"""
    for up in file.ancestors(node):
        if isinstance(up, ast.stmt):
            return False
        if is_call(file, up):
            return True
    return False
