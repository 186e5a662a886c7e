"""Where a device that is compared comes from: the program's own choice, or a tensor that tells where it lies.

torch_npu's run-time migration translates devices where torch is called; `torch.device("cuda")` itself and the user's
option keep their names, so a comparison with them still holds. A tensor answers `npu`.
"""

from __future__ import annotations

import ast
import re

from jumar.migrate.passes.torch import shapes
from jumar.migrate.passes.torch.units import reach
from jumar.migrate.pyfile import PyFile

_OPTIONS = re.compile(r".*(?:args|opts?|options?|cfg|config|conf|flags|hparams|settings|environ)", re.I)
_TEXT = {"lower", "strip", "split", "partition", "startswith", "type", "replace", "rsplit"}
_ASKING = {"get", "getenv", "pop"}
_DEPTH = 6


def is_own(node: ast.expr | None, file: PyFile, depth: int = _DEPTH) -> bool:
    """Is this value chosen by the program (an option, a constant, `torch.device(…)`), not asked of a tensor?"""
    if node is None or depth == 0:
        return False
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Call):
        return _is_own_call(node, file, depth)
    if isinstance(node, (ast.IfExp, ast.BoolOp)):
        parts = [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values
        return all(is_own(part, file, depth - 1) for part in parts)
    if isinstance(node, ast.Subscript):
        return _is_options(node.value) or is_own(node.value, file, depth - 1)
    if isinstance(node, ast.Attribute):
        return _is_own_attribute(node, file, depth)
    return isinstance(node, ast.Name) and _is_own_name(node, file, depth)


def _is_options(node: ast.expr) -> bool:
    return bool(_OPTIONS.fullmatch(shapes.last_word(node)))


def _is_own_call(node: ast.Call, file: PyFile, depth: int) -> bool:
    name, word = file.name(node.func) or "", shapes.last_word(node.func)
    if name == "torch.device":
        return bool(node.args) and is_own(node.args[0], file, depth - 1)
    if name.startswith("os.") or (word == "str" and node.args):
        return name.startswith("os.") or is_own(node.args[0], file, depth - 1)
    if not isinstance(node.func, ast.Attribute):
        return False
    return (word in _ASKING and _is_options(node.func.value)) or (
        word in _TEXT and is_own(node.func.value, file, depth - 1)
    )


def _is_own_attribute(node: ast.Attribute, file: PyFile, depth: int) -> bool:
    if _is_options(node.value):
        return True
    if node.attr == "type":
        return is_own(node.value, file, depth - 1)
    assigned = [
        up.value
        for other in file.index.nodes[ast.Attribute]
        if isinstance(other, ast.Attribute)
        and other.attr == node.attr
        and isinstance(other.ctx, ast.Store)
        and isinstance(up := file.parent(other), ast.Assign)
    ]
    return bool(assigned) and all(is_own(value, file, depth - 1) for value in assigned)


def _is_own_name(node: ast.Name, file: PyFile, depth: int) -> bool:
    known = file.index.scope[node].lookup(node.id)
    if known is None:
        return False
    return all(
        _is_own_argument(binding.node, file, depth)
        if isinstance(binding.node, ast.arg)
        else is_own(binding.value, file, depth - 1)
        for binding in known[1]
    )


def _is_own_argument(parameter: ast.arg, file: PyFile, depth: int) -> bool:
    """Does every call in the file hand an own choice to this parameter?"""
    function = file.index.function_scope(parameter)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    names = [one.arg for one in [*function.args.posonlyargs, *function.args.args] if one.arg not in ("self", "cls")]
    place = names.index(parameter.arg) if parameter.arg in names else 99
    given = [file.argument(call, place, parameter.arg) for call in reach.callers(function, file)]
    return bool(given) and all(is_own(value, file, depth - 1) for value in given)
