"""`Less()(0, x)`: the operators Less and Equal of 2.10.0 take no number before a tensor, as those of 1.x did."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MS122",
    name="number-before-tensor",
    summary="a number before the tensor of the operator Less or Equal",
    keywords=("less", "equal"),
    beside=("mindspore",),
)
_TURNED = {"Less": ">", "Equal": "=="}
_PLACES = ("mindspore.ops", "mindspore.ops.operations", "mindspore.ops.operations.math_ops")
_SIMPLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    if len(node.args) != 2 or node.keywords or not _is_number(node.args[0]):
        return
    sign = _TURNED.get(_operator(node.func, file) or "")
    if sign is None:
        return
    number, tensor = node.args
    text = file.text(tensor) if isinstance(tensor, _SIMPLE) else f"({file.text(tensor)})"
    new = f"{text} {sign} {file.text(number)}"
    if not isinstance(file.parent(node), (ast.Assign, ast.Return)) and not _is_only_argument(node, file):
        new = f"({new})"
    message = "the operator takes no number before a tensor: the comparison is turned around"
    yield file.rewrite(RULE, node, message, file.replace(node, new))


def _is_number(node: ast.expr) -> bool:
    value = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    return isinstance(value, ast.Constant) and isinstance(value.value, (int, float))


def _is_only_argument(node: ast.Call, file: PyFile) -> bool:
    parent = file.parent(node)
    return isinstance(parent, ast.Call) and node in parent.args


def _operator(func: ast.expr, file: PyFile) -> str | None:
    """The operator that is called: made on the spot, or kept in an attribute that the class sets to nothing else."""
    if isinstance(func, ast.Call):
        return _class_of(func, file)
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name) or func.value.id != "self":
        return None
    cell = next((up for up in file.ancestors(func) if isinstance(up, ast.ClassDef)), None)
    made = {_class_of(value, file) for value in _given(cell, func.attr)} if cell else set()
    return made.pop() if len(made) == 1 else None


def _class_of(made: ast.expr, file: PyFile) -> str | None:
    if not isinstance(made, ast.Call) or made.args or made.keywords:
        return None
    place, _, name = (file.name(made.func) or "").rpartition(".")
    return name if place in _PLACES else None


def _given(cell: ast.ClassDef, attribute: str) -> Iterator[ast.expr]:
    """Everything that `self.attribute` is set to in a class."""
    for node in ast.walk(cell):
        if isinstance(node, ast.Assign):
            names = [target for target in node.targets if isinstance(target, ast.Attribute)]
            if any(target.attr == attribute for target in names):
                yield node.value
