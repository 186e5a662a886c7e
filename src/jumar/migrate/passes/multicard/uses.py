"""Uses of the wrapped model that its DistributedDataParallel wrapper does not support."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import NamedTuple

from jumar.migrate.flow import SAME_OBJECT, Var, own_nodes
from jumar.migrate.passes.multicard import models
from jumar.migrate.passes.multicard.models import Model
from jumar.migrate.passes.multicard.script import Script

CARRIED = SAME_OBJECT | {"parameters", "buffers", "zero_grad", "training", "forward", "no_sync", "register_comm_hook"}
"""Attributes that mean the same on the wrapper."""
COPIES = frozenset({"copy.deepcopy", "copy.copy", "torch.optim.swa_utils.AveragedModel"})
"""Copies of a model, such as a moving average of it, are made of the model itself."""
TAKES_MODEL = COPIES | {"torch.onnx.export", "torch.jit.trace", "torch.jit.script", "torch.save"}
LOOKS = frozenset({"torchsummary.summary", "torchinfo.summary", "thop.profile", "wandb.watch"})
"""They run or walk through the model by themselves."""
TAKES_LAST = frozenset({"ModelEma", "ModelEmaV2", "ModelEmaV3", "ModelEMA", "ExponentialMovingAverage", "EMA"})
"""Classes of other packages that do the same, by the last part of their names."""
BUILTINS = frozenset({"isinstance", "len", "type"})
COMPUTES = ("forward", "encode", "decode", "loss", "compute", "step", "sample", "log_prob", "predict", "generate")


class Use(NamedTuple):
    """A place where the model without its wrapper is wanted; `reason` says why it is left to a person."""

    node: ast.expr
    spelling: str
    what: str
    reason: str | None = None


@lru_cache(maxsize=16)
def find(script: Script) -> list[Use]:
    """Every such place, in order."""
    found: dict[ast.expr, Use] = {}
    of = _use if not script.sharded else _use_of_shards
    for model in script.models:
        for var in model.aliases:
            for node in script.flow.uses.get(var, ()):
                use = of(script, model, var, node)
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


def _use_of_shards(script: Script, model: Model, var: Var, node: ast.expr) -> Use | None:
    """A sharded model keeps its attributes; only its state is in parts, and copies of it cannot be made."""
    if not isinstance(getattr(node, "ctx", None), ast.Load) or _is_early(script, model, var, node):
        return None
    text, up = script.file.text(node), script.file.parent(node)
    if node in script.file.lost:
        return None
    if isinstance(up, ast.Attribute):
        if up.attr == "module":
            return Use(up, text, f"`{text}.module`")
        call = script.file.parent(up)
        is_call = isinstance(call, ast.Call) and call.func is up
        if up.attr == "state_dict" and is_call:
            return Use(call, f"full_state_dict({text})", f"`{text}.state_dict()`")  # type: ignore[arg-type]
        if up.attr == "load_state_dict" and is_call:
            given = ", ".join(script.file.text(arg) for arg in [*call.args, *call.keywords])  # type: ignore[union-attr]
            return Use(call, f"load_full_state_dict({text}, {given})", f"`{text}.load_state_dict()`")  # type: ignore[arg-type]
        if up.attr == "cpu":
            return Use(node, text, f"`{text}.cpu()`", "it moves the model after sharding")
        if _is_computing(script, model, up) and not _is_last(script, model, up.attr):
            reason = "outside `forward` each process of a sharded model has a part of each parameter"
            return Use(node, text, f"`{text}.{up.attr}`", reason)
        if up.attr in models.PARAMETERS and _reads_values(script, node):
            return Use(
                node, text, f"`{text}.{up.attr}`", "each process of a sharded model has a part of each parameter"
            )
        return None
    call = _taker(script, node)
    if call is None or (isinstance(call.func, ast.Name) and call.func.id in BUILTINS):
        return None
    reason = "a sharded model cannot be copied or saved as an object"
    return Use(node, text, f"`{text}` in `{script.file.text(call.func)}`", reason)


def _reads_values(script: Script, node: ast.expr) -> bool:
    """Is this a loop that hands parameters to something, such as a histogram?"""
    loop = script.file.statement(node)
    if not isinstance(loop, ast.For) or node not in ast.walk(loop.iter):
        return False
    names = {one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)}
    last = max(loop.target.elts, key=lambda one: one.col_offset) if isinstance(loop.target, ast.Tuple) else loop.target
    value = last.id if isinstance(last, ast.Name) else ""
    calls = [one for part in loop.body for one in ast.walk(part) if isinstance(one, ast.Call)]
    return value in names and any(isinstance(arg, ast.Name) and arg.id == value for one in calls for arg in one.args)


def methods_past(script: Script, model: Model) -> list[str]:
    """Methods of a sharded model that the program calls beside `forward` and that compute with its layers."""
    found: dict[str, None] = {}
    for var in model.aliases:
        for node in script.flow.uses.get(var, ()):
            up = script.file.parent(node)
            if isinstance(up, ast.Attribute) and _is_computing(script, model, up) and _is_last(script, model, up.attr):
                found.setdefault(up.attr)
    return list(found)


def _is_computing(script: Script, model: Model, method: ast.Attribute) -> bool:
    """Is this a call of a method that computes with the model's layers?"""
    call = script.file.parent(method)
    if method.attr in CARRIED or not isinstance(call, ast.Call) or call.func is not method:
        return False
    for target in script.flow.callees(call) or _methods(script, model, method.attr):
        return _computes(script, target, set())
    return any(word in method.attr for word in COMPUTES)


def _is_last(script: Script, model: Model, attr: str) -> bool:
    """Does `forward` use no layer behind its own call of a method, which lets go of the gathered parameters?"""
    for forward in _methods(script, model, "forward"):
        calls = [node for node in own_nodes(forward) if isinstance(node, ast.Call) and _of_self(node)]
        for inner in calls:
            if _of_self(inner) == attr:
                above = set(script.file.ancestors(inner))
                place = (inner.lineno, inner.col_offset)
                if any(one in above or (one.lineno, one.col_offset) > place for one in calls if one is not inner):
                    return False
    return True


def _of_self(call: ast.Call) -> str:
    """`encode` of `self.encode(x)`."""
    func = call.func
    is_own = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "self"
    return func.attr if is_own and isinstance(func, ast.Attribute) else ""


@lru_cache(maxsize=16)
def optimizer_states(script: Script) -> list[Use]:
    """`optimizer.state_dict()` and `optimizer.load_state_dict(…)` of a sharded model."""
    found = []
    made = {var for call in models.optimizers(script) for var in _holders(script, call)}
    for var in made:
        for node in script.flow.uses.get(var, ()):
            up = script.file.parent(node)
            call = script.file.parent(up) if isinstance(up, ast.Attribute) else None
            if not isinstance(up, ast.Attribute) or not isinstance(call, ast.Call) or call.func is not up:
                continue
            use = _optimizer_state(script, node, up.attr, call)
            if use is not None:
                found.append(use)
    return found


def _holders(script: Script, call: ast.Call) -> set[Var]:
    up = script.file.parent(call)
    targets = up.targets if isinstance(up, ast.Assign) and up.value is call else []
    homes = [var for target in targets if (var := script.flow.var(target)) is not None]
    return {alias for home in homes for alias in script.flow.aliases(home)}


def _optimizer_state(script: Script, node: ast.expr, attr: str, call: ast.Call) -> Use | None:
    if attr not in ("state_dict", "load_state_dict"):
        return None
    text = script.file.text(node)
    owner = script.flow.owner(node)
    near = {
        script.file.text(use)
        for model in script.models
        for var in model.aliases
        for use in script.flow.uses.get(var, ())
        if script.flow.owner(use) is owner
    }
    if len(near) != 1:
        return Use(node, text, f"`{text}.{attr}`", "it is unclear which model it belongs to here")
    model = near.pop()
    if attr == "state_dict":
        return Use(call, f"full_optimizer_state_dict({model}, {text})", f"`{text}.state_dict()`")
    given = script.file.text(call.args[0]) if call.args else ""
    return Use(call, f"load_full_optimizer_state_dict({model}, {text}, {given})", f"`{text}.load_state_dict()`")


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
            name = script.file.name(at.func) or ""
            is_copy = name.rpartition(".")[2] in TAKES_LAST and not script.flow.callees(at)
            is_graph = isinstance(at.func, ast.Attribute) and at.func.attr == "add_graph"
            return at if name in TAKES_MODEL or name in LOOKS or is_copy or is_graph else None
        if isinstance(at, ast.stmt):
            return None
    return None
