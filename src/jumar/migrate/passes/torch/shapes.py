"""Small tests on the position of an expression, shared by several rules."""

from __future__ import annotations

import ast

from jumar.migrate.pyfile import PyFile

_TEXT_CALLS = {"print", "debug", "info", "warning", "warn", "error", "critical", "exception", "log", "write", "fail"}
_TEXT_CALLS |= {"skip", "skipTest", "skipif", "echo", "secho", "Exception", "RuntimeError", "ValueError"}
_TEXT_CALLS |= {"ImportError", "AssertionError", "NotImplementedError", "EnvironmentError", "KeyError"}

_TEXT_KEYWORDS = {"help", "description", "epilog", "metavar", "title", "label", "placeholder"}


def last_word(func: ast.expr) -> str:
    """`c` of `a.b.c`, the name itself, else nothing."""
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def call_of(node: ast.AST, file: PyFile) -> ast.Call | None:
    """The call that has `node` among its arguments."""
    parent = file.parent(node)
    if isinstance(parent, ast.keyword):
        parent = file.parent(parent)
    return parent if isinstance(parent, ast.Call) and parent.func is not node else None


def is_text(node: ast.AST, file: PyFile) -> bool:
    """Is the string only for people: printed, logged, part of an error or of a help text?"""
    at: ast.AST | None = node
    while isinstance(at, (ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.IfExp)):
        up = file.parent(at)
        if isinstance(up, ast.keyword) and up.arg in _TEXT_KEYWORDS:
            return True
        call = call_of(at, file)
        if call is not None:
            return last_word(call.func) in _TEXT_CALLS
        at = file.parent(at)
    return isinstance(at, (ast.Assert, ast.Raise))


def guarded_import(node: ast.AST, file: PyFile) -> bool:
    """Does the import stand in a `try` that catches its failure?"""
    below = node
    for at in file.ancestors(node):
        if isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return False
        if isinstance(at, ast.Try) and below in at.body:
            names = {last_word(item) for handler in at.handlers for item in _caught(handler)}
            if names & {"ImportError", "ModuleNotFoundError", "Exception", "BaseException", ""}:
                return True
        below = at
    return False


def _caught(handler: ast.ExceptHandler) -> list[ast.expr]:
    if handler.type is None:
        return [ast.Name("")]
    return handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
