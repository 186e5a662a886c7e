"""Uses of the wrapped model that its DistributedDataParallel wrapper does not support."""

from __future__ import annotations

import ast
from typing import NamedTuple

from jumar.migrate.flow import SAME_OBJECT, Var, own_nodes
from jumar.migrate.passes.multicard.models import Model
from jumar.migrate.passes.multicard.script import Script

CARRIED = SAME_OBJECT | {"parameters", "buffers", "zero_grad", "training", "forward", "no_sync", "register_comm_hook"}
"""Attributes that mean the same on the wrapper."""
TAKES_MODEL = frozenset(
    {"copy.deepcopy", "copy.copy", "torch.onnx.export", "torch.jit.trace", "torch.jit.script", "torch.save"}
)
BUILTINS = frozenset({"isinstance", "len", "type"})
COMPUTES = ("forward", "encode", "decode", "loss", "compute", "step", "sample", "log_prob", "predict", "generate")


class Use(NamedTuple):
    """A place where the model without its wrapper is wanted; `reason` says why it is left to a person."""

    node: ast.expr
    spelling: str
    what: str
    reason: str | None = None


def find(script: Script) -> list[Use]:
    """Every such place, in order."""
    found: dict[ast.expr, Use] = {}
    for model in script.models:
        for var in model.aliases:
            for node in script.flow.uses.get(var, ()):
                use = _use(script, model, var, node)
                if use is not None:
                    found[use.node] = use
    return sorted(found.values(), key=lambda use: (use.node.lineno, use.node.col_offset))


def is_forward(script: Script, node: ast.AST) -> bool:
    """Is this a call of a wrapped model?"""
    if not isinstance(node, ast.Call):
        return False
    var = script.flow.var(node.func)
    return var is not None and any(var in model.aliases for model in script.models)


def _use(script: Script, model: Model, var: Var, node: ast.expr) -> Use | None:
    if not isinstance(getattr(node, "ctx", None), ast.Load) or _is_early(script, model, var, node):
        return None
    text = script.file.text(node)
    if node in script.file.lost:
        return None
    up = script.file.parent(node)
    if isinstance(up, ast.Attribute):
        if up.attr == "module":
            return Use(up, f"unwrapped({text})", f"`{text}.module`")
        attr = _attribute(script, up)
        if attr is None:
            return None
        if attr == "cpu":
            return Use(node, text, f"`{text}.cpu()`", "it moves the model after wrapping")
        reason = "it bypasses the wrapper, so gradients would not be averaged"
        if _runs_past(script, model, node, attr):
            return Use(node, text, f"`{text}.{attr}`", reason)
        return Use(node, f"unwrapped({text})", f"`{text}.{attr}`")
    if isinstance(up, ast.Subscript) and up.value is node:
        return Use(node, f"unwrapped({text})", f"`{text}[…]`")
    call = _taker(script, node)
    return Use(node, f"unwrapped({text})", f"`{text}` in `{script.file.text(call.func)}`") if call else None


def _is_early(script: Script, model: Model, var: Var, node: ast.expr) -> bool:
    """Is the model not wrapped yet at this place?"""
    same = script.flow.owner(node) is script.flow.owner(model.behind)
    return same and var == model.home and node.lineno <= (model.behind.end_lineno or 0)


def _attribute(script: Script, node: ast.Attribute) -> str | None:
    """The first attribute in `model.eval().state_dict()` that the wrapper does not carry; `cpu` counts as one."""
    at: ast.AST | None = node
    while isinstance(at, ast.Attribute):
        if at.attr == "cpu" or at.attr not in CARRIED:
            return at.attr
        up = script.file.parent(at)
        if not isinstance(up, ast.Call) or up.func is not at or at.attr not in SAME_OBJECT:
            return None
        at = script.file.parent(up)
    return None


def _runs_past(script: Script, model: Model, node: ast.expr, attr: str) -> bool:
    """Is this a method call in a training function that computes with the model's layers?"""
    owner = script.flow.owner(node)
    up = script.file.parent(node)
    called = script.file.parent(up) if up is not None else None
    if not isinstance(called, ast.Call) or called.func is not up or not script.flow.contains(owner, "backward"):
        return False
    if any(isinstance(at, (ast.With, ast.AsyncWith)) and "no_grad" in _heads(script, at) for at in _up(script, node)):
        return False
    for target in script.flow.callees(called) or _methods(script, model, attr):
        return _computes(script, target, set())
    return any(word in attr for word in COMPUTES)


def _methods(script: Script, model: Model, attr: str) -> list[ast.AST]:
    for bound in script.flow.bounds.get(model.home, ()):
        for origin in script.flow.origins(bound.value):
            if isinstance(origin, ast.Call):
                for target in script.flow.callees(origin):
                    if isinstance(target, ast.ClassDef):
                        return [one for one in target.body if isinstance(one, ast.FunctionDef) and one.name == attr]
    return []


def _computes(script: Script, method: ast.AST, seen: set[ast.AST]) -> bool:
    """Does a method call a layer of its own object, directly or through another method?"""
    owner = script.file.parent(method)
    if not isinstance(owner, ast.ClassDef) or method in seen:
        return False
    seen.add(method)
    layers = {var.name for var in script.flow.bounds if var.owner is owner}
    for node in own_nodes(method):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            var = script.flow.var(node.func)
            if var is not None and var.name in layers:
                return True
            if any(_computes(script, target, seen) for target in script.flow.callees(node)):
                return True
    return False


def _up(script: Script, node: ast.AST) -> list[ast.AST]:
    return script.file.ancestors(node)


def _heads(script: Script, node: ast.With | ast.AsyncWith) -> str:
    return " ".join(script.file.text(item.context_expr) for item in node.items)


def _taker(script: Script, node: ast.expr) -> ast.Call | None:
    """The call around the model that wants it bare: `torch.save(model, …)`, `isinstance(model, Net)`."""
    up = script.file.parent(node)
    if isinstance(up, ast.Call) and up.func is not node and isinstance(up.func, ast.Name) and up.func.id in BUILTINS:
        return up
    for at in script.file.ancestors(node):
        if isinstance(at, ast.Call):
            if at.func is node or is_forward(script, at):
                return None
            return at if script.file.name(at.func) in TAKES_MODEL else None
        if isinstance(at, ast.stmt):
            return None
    return None
