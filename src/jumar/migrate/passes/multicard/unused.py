"""Why some parameters of a model may get no gradient in a training step: DDP must then look for them.

`DistributedDataParallel` waits for the gradient of every parameter. A layer that one step does not use stops it in the
next one; `find_unused_parameters=True` makes it look, which costs a walk through the graph in every step, so there must
be a reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.migrate.flow import own_nodes
from jumar.migrate.passes.multicard.models import PARAMETERS, Model
from jumar.migrate.passes.multicard.script import Script

_RANDOM = ("random", "rand", "bernoulli", "drop_prob", "layerdrop", "survival")


def reason(script: Script, model: Model) -> str | None:
    """What makes some parameters go unused, in words for the report."""
    for found in (*_in_classes(script, model), *_frozen_later(script, model), *_parts_of_outputs(script, model)):
        return found
    return None


def _in_classes(script: Script, model: Model) -> Iterator[str]:
    todo = list(_classes(script, model))
    seen: set[ast.ClassDef] = set()
    while todo:
        one = todo.pop(0)
        if one in seen:
            continue
        seen.add(one)
        yield from _in_class(script, one)
        for node in ast.walk(one):
            if isinstance(node, ast.Call):
                todo += [target for target in script.flow.callees(node) if isinstance(target, ast.ClassDef)]


def _classes(script: Script, model: Model) -> Iterator[ast.ClassDef]:
    """The classes that the model is an instance of."""
    for bound in script.flow.bounds.get(model.home, ()):
        for origin in script.flow.origins(bound.value):
            if isinstance(origin, ast.Call):
                yield from (one for one in script.flow.callees(origin) if isinstance(one, ast.ClassDef))


def _in_class(script: Script, one: ast.ClassDef) -> Iterator[str]:
    methods = {node.name: node for node in one.body if isinstance(node, ast.FunctionDef)}
    start, forward = methods.get("__init__"), methods.get("forward")
    if start is None or forward is None:
        return
    layers = _layers(script, start)
    used = _attributes([node for name, method in methods.items() if name != "__init__" for node in ast.walk(method)])
    used |= _attributes(node for node in ast.walk(start) if isinstance(getattr(node, "ctx", None), ast.Load))
    dynamic = any(isinstance(node, ast.Name) and node.id in ("getattr", "vars") for node in ast.walk(one))
    for name, statement in layers.items():
        is_alone = not dynamic and len(script.flow.family(one)) == 1
        if name not in used and is_alone and not _is_optional(script, start, statement):
            yield f"`{one.name}` makes `self.{name}` and does not use it in `forward`"
            return
    frozen = _without_gradients(script, forward) & set(layers)
    if frozen:
        yield f"`forward` of `{one.name}` runs `self.{sorted(frozen)[0]}` without gradients"
        return
    for test, names in _branches(script, forward, set(layers)):
        words = script.file.text(test)
        made_under = {name for name in names if _is_under(script, layers[name], words)}
        if names - made_under and "self.training" not in words:
            yield f"`forward` of `{one.name}` uses `self.{sorted(names - made_under)[0]}` only in a branch"
            return


def _without_gradients(script: Script, forward: ast.FunctionDef) -> set[str]:
    """The attributes that `forward` uses under `torch.no_grad()` and nowhere else."""
    quiet = [
        node
        for node in own_nodes(forward)
        if isinstance(node, ast.With) and any("no_grad" in script.file.text(item.context_expr) for item in node.items)
    ]
    inside = {one for node in quiet for one in ast.walk(node)}
    outside = _attributes([node for node in own_nodes(forward) if node not in inside])
    return _attributes(list(inside)) - outside


def _layers(script: Script, start: ast.FunctionDef) -> dict[str, ast.stmt]:
    """`self.name = nn.Linear(…)` or a class of the program that is a module."""
    found: dict[str, ast.stmt] = {}
    for node in own_nodes(start):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            name = script.file.name(value.func) or ""
            is_layer = name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper() and _has_weights(name)
            is_own = any(
                isinstance(one, ast.ClassDef) and _is_module(script, one) for one in script.flow.callees(value)
            )
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and (is_layer or is_own):
                found[target.attr] = node
    return found


_WEIGHTLESS = ("Loss", "ReLU", "Dropout", "Pool", "Softmax", "Sigmoid", "Tanh", "Flatten", "Identity", "GELU", "SiLU",
               "Upsample", "PixelShuffle", "Unfold", "Fold", "Pad", "Similarity", "Distance")  # fmt: skip


def _has_weights(name: str) -> bool:
    return not any(word in name.rpartition(".")[2] for word in _WEIGHTLESS) and not name.startswith("torch.nn.init")


def _is_module(script: Script, node: ast.ClassDef) -> bool:
    names = [script.file.name(base) or "" for one in script.flow.family(node) for base in one.bases]
    return any(name.startswith("torch.nn.") for name in names)


def _attributes(nodes: Iterator[ast.AST] | list[ast.AST]) -> set[str]:
    return {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def _is_optional(script: Script, start: ast.FunctionDef, statement: ast.stmt) -> bool:
    """Is the layer made under a test, so that it may not be there at all?"""
    return any(isinstance(up, ast.If) for up in script.file.ancestors(statement) if up is not start)


def _is_under(script: Script, statement: ast.stmt, words: str) -> bool:
    """Is the layer made under the same test under which it is used?"""
    tests = [script.file.text(up.test) for up in script.file.ancestors(statement) if isinstance(up, ast.If)]
    plain = words.replace("self.", "")
    return any(test.replace("self.", "") in plain or plain in test.replace("self.", "") for test in tests)


def _branches(script: Script, forward: ast.FunctionDef, layers: set[str]) -> Iterator[tuple[ast.expr, set[str]]]:
    """The tests in `forward` with the layers that are used under them and nowhere else."""
    for node in own_nodes(forward):
        if not isinstance(node, (ast.If, ast.IfExp)) or _is_about_shape(script, node.test):
            continue
        body = node.body if isinstance(node.body, list) else [node.body]
        orelse = node.orelse if isinstance(node.orelse, list) else [node.orelse]
        inside = {one for part in (*body, *orelse) for one in ast.walk(part)}
        here, there = (
            _attributes([one for part in side for one in ast.walk(part)]) & layers for side in (body, orelse)
        )
        outside = _attributes([one for one in own_nodes(forward) if one not in inside]) & layers
        returns = any(isinstance(one, ast.Return) for part in body for one in ast.walk(part))
        only = (here ^ there) - outside
        if not orelse and returns:  # an early way out: what follows is used only without it
            later = _attributes(
                [one for one in own_nodes(forward) if getattr(one, "lineno", 0) > (node.end_lineno or 0)]
            )
            if any(word in script.file.text(node.test) for word in _RANDOM):
                only |= later & layers
        if only:
            yield node.test, only


def _is_about_shape(script: Script, test: ast.expr) -> bool:
    """A check of sizes, or whether something is there: the same in every step of a training."""
    words = script.file.text(test)
    return any(word in words for word in (".shape", ".size(", ".dim()", "isinstance(", "is None", "is not None"))


def _frozen_later(script: Script, model: Model) -> Iterator[str]:
    """`requires_grad = False` behind the place where the model is wrapped."""
    for var in model.aliases:
        for use in script.flow.uses.get(var, ()):
            statement = script.file.statement(use)
            same = script.flow.owner(use) is script.flow.owner(model.behind)
            later = not same or statement.lineno > (model.behind.end_lineno or 0)
            is_loop = isinstance(statement, ast.For) and any(
                isinstance(one, ast.Attribute) and one.attr in PARAMETERS for one in ast.walk(statement.iter)
            )
            if later and is_loop and _changes_grad(statement):
                yield "parameters are frozen or released during training"


def _changes_grad(loop: ast.stmt) -> bool:
    return any(
        isinstance(one, ast.Attribute) and one.attr in ("requires_grad", "requires_grad_") and one is not None
        for one in ast.walk(loop)
    )


def _parts_of_outputs(script: Script, model: Model) -> Iterator[str]:
    """`output, aux = model(x)` in a training step whose loss does not use `aux`."""
    for node in script.flow.nodes:
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        owner = script.flow.owner(node)
        target = node.targets[0]
        if script.flow.var(node.value.func) not in model.aliases or not isinstance(target, ast.Tuple):
            continue
        if not script.flow.contains(owner, "backward"):
            continue
        if not any(_returns_layers(script, one) for one in _classes(script, model)):
            continue
        for part in target.elts:
            if isinstance(part, ast.Name) and not _is_read(owner, part):
                yield f"`{part.id}` of the model's outputs is not used in the loss"
                return


def _returns_layers(script: Script, one: ast.ClassDef) -> bool:
    """Does `forward` return several things of which more than one comes straight from a layer of its own?"""
    forward = next((node for node in one.body if isinstance(node, ast.FunctionDef) and node.name == "forward"), None)
    for result in script.flow.returns.get(forward, ()) if forward is not None else ():
        if isinstance(result, ast.Tuple) and sum(_from_layer(script, part) for part in result.elts) > 1:
            return True
    return False


def _from_layer(script: Script, node: ast.expr) -> bool:
    origins = [node] if isinstance(node, ast.Call) else script.flow.origins(node)
    return any(
        isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and isinstance(one.func.value, ast.Name)
        and one.func.value.id == "self"
        for one in origins
    )


def _is_read(owner: ast.AST, part: ast.Name) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == part.id and isinstance(node.ctx, ast.Load) for node in ast.walk(owner)
    )
