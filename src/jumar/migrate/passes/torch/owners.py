"""Whose method or attribute is it: torch's, or that of a class which the project itself defines?"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterable
from enum import Enum, auto

from jumar.migrate.look import Text
from jumar.migrate.pyfile import PyFile
from jumar.migrate.settings import Facts, Style

_TENSOR_METHODS = {
    "float", "half", "bfloat16", "double", "long", "int", "to", "view", "reshape", "detach", "clone", "contiguous",
    "unsqueeze", "squeeze", "permute", "transpose", "pin_memory", "eval", "train", "requires_grad_", "cpu", "type",
    "repeat", "expand", "flatten", "mean", "sum", "share_memory", "t",
}  # fmt: skip

_MOVERS = {"cuda", "npu"}
_OWN_METHOD = re.compile(
    rb"^(?P<indent>[ \t]+)(?:async[ \t]+)?def[ \t]+(?P<name>cuda|npu|is_cuda)\b"
    rb"(?P<body>[^\n]*\n(?:(?P=indent)[ \t][^\n]*\n|[ \t]*\r?\n|(?P=indent)\)[^\n]*\n)*)",
    re.M,
)
_MOVES = re.compile(rb"\.(cuda|npu|to|_apply)\(|\.device\b|\.is_cuda\b")


class Owner(Enum):
    TORCH = auto()
    USER = auto()
    UNKNOWN = auto()


def prepare(facts: Facts, texts: Iterable[Text]) -> Facts:
    """The methods named like torch's own that classes of the project define."""
    found = [method for text in texts for method in text.tells("own methods", _own_methods)]
    methods, movers = (frozenset(name for name, moves in found if moves is kind) for kind in (False, True))
    return dataclasses.replace(facts, own_methods=methods, own_movers=movers)


def _own_methods(raw: bytes) -> list[tuple[str, bool]]:
    """Names of methods, each with whether it moves its object."""
    if not (b"def cuda" in raw or b"def npu" in raw or b"def is_cuda" in raw):
        return []
    matches = _OWN_METHOD.finditer(raw)
    return [(match.group("name").decode(), bool(_MOVES.search(match.group("body")))) for match in matches]


def of(file: PyFile, receiver: ast.expr, method: str, name: str | None) -> Owner:
    """Who defines `receiver.method`; `name` is the full dotted name when imports know it."""
    if name is not None:
        return Owner.UNKNOWN if _is_module(file, receiver) else _imported(file, method)
    own = _defining(file, method)
    if not _is_ambiguous(file, own, method):
        return Owner.TORCH if not _is_own(file, receiver, own) else Owner.USER
    if _is_own(file, receiver, own):
        return Owner.USER
    return Owner.TORCH if _is_tensor(file, receiver) else Owner.UNKNOWN


def is_assigned(file: PyFile, node: ast.Attribute) -> bool:
    """Is this attribute of the same object (`self.is_cuda`) assigned in the file? Torch's own ones never are."""
    if not isinstance(node.value, ast.Name):
        return False
    return any(
        isinstance(other, ast.Attribute)
        and other.attr == node.attr
        and not isinstance(other.ctx, ast.Load)
        and isinstance(other.value, ast.Name)
        and other.value.id == node.value.id
        for other in file.index.nodes[ast.Attribute]
    )


def _is_module(file: PyFile, receiver: ast.expr) -> bool:
    """Is the receiver itself an imported module (`import fish; fish.cuda()`)?"""
    if not isinstance(receiver, ast.Name):
        return isinstance(receiver, ast.Attribute)
    found = file.index.scope[receiver].lookup(receiver.id)
    return found is None or any(isinstance(binding.node, (ast.Import, ast.ImportFrom)) for binding in found[1])


def _imported(file: PyFile, method: str) -> Owner:
    return Owner.UNKNOWN if method in file.settings.facts.own_methods else Owner.TORCH


def _is_ambiguous(file: PyFile, own: dict[str, bool], method: str) -> bool:
    """May an unknown object be one of the project's own, without the method's new name?

    Methods that move their object get the new name beside the old one (PT112), which is enough for explicit NPU
    code; `.to()` of the agnostic style they need not have.
    """
    facts = file.settings.facts
    if not all(own.values()):
        return True
    elsewhere = _knows_project(file)
    if method in facts.own_methods and elsewhere:
        return True
    return file.settings.to is Style.AGNOSTIC and (bool(own) or (elsewhere and method in facts.own_movers))


def _knows_project(file: PyFile) -> bool:
    """Does the file import anything of the project itself? One that does not hardly meets its objects."""
    if file.has_relative_imports:
        return True
    return any(name.split(".")[0] in file.settings.facts.own_modules for name in file.imported)


def _defining(file: PyFile, method: str) -> dict[str, bool]:
    """Classes of this file that define the method themselves, and whether it moves the object to a device."""
    found: dict[str, bool] = {}
    for node in file.index.classes:
        for statement in node.body:
            if _binds(statement, method):
                found[node.name] = moves(file, statement)
    return found


def moves(file: PyFile, method: ast.stmt) -> bool:
    """Does a method move something to a device, or is its name a coincidence?"""
    return bool(_MOVES.search(file.source.text(method)))


def _binds(statement: ast.stmt, method: str) -> bool:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return statement.name == method
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return any(isinstance(target, ast.Name) and target.id == method for target in targets)


def _is_own(file: PyFile, receiver: ast.expr, own: dict[str, bool]) -> bool:
    """Is the receiver `self` in such a class, a new object of it, or a variable that holds one?"""
    if isinstance(receiver, ast.Call):
        func = receiver.func
        return isinstance(func, ast.Name) and func.id in own
    if not isinstance(receiver, ast.Name):
        return False
    if receiver.id in ("self", "cls"):
        return any(isinstance(up, ast.ClassDef) and up.name in own for up in file.ancestors(receiver))
    found = file.index.scope[receiver].lookup(receiver.id)
    values = [binding.value for binding in found[1]] if found else []
    return bool(values) and all(
        isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in own for value in values
    )


def _is_tensor(file: PyFile, receiver: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
    """A call of torch, a method that only tensors and modules have, `super()`, or a variable that holds one."""
    if isinstance(receiver, ast.Name):
        return receiver.id in seen or _holds_tensor(file, receiver, seen | {receiver.id})
    if isinstance(receiver, ast.BinOp):
        return _is_tensor(file, receiver.left, seen) or _is_tensor(file, receiver.right, seen)
    if isinstance(receiver, ast.Subscript):
        return _is_tensor(file, receiver.value, seen)
    if not isinstance(receiver, ast.Call):
        return False
    if (file.name(receiver.func) or "").startswith("torch."):
        return True
    if isinstance(receiver.func, ast.Attribute):
        method = receiver.func.attr
        return method in _TENSOR_METHODS or (method in _MOVERS and _is_tensor(file, receiver.func.value, seen))
    return isinstance(receiver.func, ast.Name) and receiver.func.id == "super"


def _holds_tensor(file: PyFile, name: ast.Name, seen: frozenset[str]) -> bool:
    """Is a variable only ever given tensors or modules, or annotated as one?"""
    found = file.index.scope[name].lookup(name.id)
    if found is None:
        return False
    for binding in found[1]:
        if isinstance(binding.node, ast.arg):
            kind = binding.node.annotation
            if kind is None or not (file.name(kind) or "").startswith("torch."):
                return False
        elif binding.value is None or not _is_tensor(file, binding.value, seen):
            return False
    return True
