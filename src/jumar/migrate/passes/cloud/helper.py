"""The module that comes beside an adapted script, and how calls of it are spelled."""

from __future__ import annotations

import ast

from jumar.migrate import copied
from jumar.migrate.pyfile import PyFile

NAME = "jumar_cloud"
NEEDS = (f"import {NAME}",)


def text() -> bytes:
    """The helper itself, the same for every program."""
    return copied.text(NAME)


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
