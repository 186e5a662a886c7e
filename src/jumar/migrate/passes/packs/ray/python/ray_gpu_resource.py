"""The resource `GPU` in what Ray is given or answers: `placement_group([{"GPU": 1}])`, `cluster_resources()["GPU"]`.

Ray 2.60 gives NPUs the resource `NPU` (ray/_private/accelerators/npu.py); a bundle that asks for `GPU` waits for ever
on a cluster without any.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate.document import ONLY_NPU
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PK101",
    name="ray-gpu-resource",
    summary="the resource `GPU` in a request to Ray or an answer of it",
    keywords=(),
    words=("ray",),
)
_ANSWERS = ("ray.cluster_resources", "ray.available_resources", "ray.nodes", "ray._private.state")
_REQUESTS = ("placement_group", "bundles", "resources", "resources_per_worker", "resources_per_trial")
_BESIDE = {"CPU", "memory", "object_store_memory"}
_FIX = 'Ray\'s resource for NPUs is `"NPU"`: write that where the program runs on them'


def visit_Constant(node: ast.Constant, file: PyFile) -> Iterator[Finding]:
    if node.value not in ("GPU", "num_gpus") or not file.imports("ray") or "ray" in file.settings.facts.own_modules:
        return
    if node.value == "num_gpus":
        yield from _options(node, file)
        return
    known = _is_sent(node, file) if _is_key(node, file) else _is_answer(node, file)
    if known is None:
        return
    message = "the resource `GPU` of Ray means NVIDIA cards"
    if not known or node in file.lost:
        yield file.report(RULE, node, State.HAND, message, _FIX, subject="GPU")
        return
    edits: tuple[Edit | None, ...] = tuple(file.in_string(node, "GPU", "NPU") or ()) or (None,)
    message = "the resource `GPU` of Ray becomes `NPU`"
    yield file.rewrite(RULE, node, message, *edits, styles=ONLY_NPU, otherwise=_FIX, subject="GPU")


def _options(node: ast.Constant, file: PyFile) -> Iterator[Finding]:
    """`ray_actor_options={"num_gpus": 1}`, `options["num_gpus"] = 1`: options in a dictionary."""
    up = file.parent(node)
    is_stored = (
        isinstance(up, ast.Subscript) and isinstance(up.ctx, ast.Store) and "option" in file.text(up.value).lower()
    )
    if is_stored or (_is_key(node, file) and _is_sent(node, file)):
        fix = 'write `"resources": {"NPU": …}` on NPUs'
        yield file.report(RULE, node, State.HAND, "`num_gpus` of Ray counts NVIDIA cards", fix, subject="num_gpus")


def _is_key(node: ast.Constant, file: PyFile) -> bool:
    up = file.parent(node)
    return isinstance(up, ast.Dict) and node in up.keys


def _is_sent(node: ast.Constant, file: PyFile) -> bool | None:
    """Does the dictionary go to Ray? None when nothing speaks for it."""
    mapping = file.parent(node)
    assert isinstance(mapping, ast.Dict)
    keys = {key.value for key in mapping.keys if isinstance(key, ast.Constant)}
    at: ast.AST = mapping
    while isinstance(up := file.parent(at), (ast.List, ast.Tuple, ast.ListComp, ast.BinOp, ast.Dict, ast.IfExp)):
        at = up
    if isinstance(up, ast.keyword) and up.arg is not None:
        named = up.arg.endswith(_REQUESTS) or up.arg.startswith("ray_")
        return named or _goes_to_ray(file.parent(up), file)
    if _goes_to_ray(up, file) or keys & _BESIDE:
        return True
    if isinstance(up, ast.Assign) and isinstance(up.targets[0], ast.Name):
        return _is_passed(up.targets[0].id, file) or None
    return None


def _goes_to_ray(call: ast.AST | None, file: PyFile) -> bool:
    return isinstance(call, ast.Call) and (file.name(call.func) or "").startswith("ray.")


def _is_passed(name: str, file: PyFile) -> bool:
    """Is a variable of this name an argument of a call of Ray?"""
    for node in file.index.nodes[ast.Name]:
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            up = file.parent(node)
            call = file.parent(up) if isinstance(up, ast.keyword) else up
            if _goes_to_ray(call, file):
                return True
    return False


def _is_answer(node: ast.Constant, file: PyFile) -> bool | None:
    """Is it looked up in what Ray says of the cluster? None when it is no look-up."""
    up = file.parent(node)
    if isinstance(up, ast.Subscript):
        held = up.value
    elif isinstance(up, ast.Call) and isinstance(up.func, ast.Attribute) and up.func.attr in ("get", "pop"):
        held = up.func.value
    else:
        return None
    if isinstance(held, ast.Name):
        found = file.index.scope[held].lookup(held.id)
        values = [binding.value for binding in found[1]] if found is not None else []
        held = values[0] if len(values) == 1 and values[0] is not None else held
    return isinstance(held, ast.Call) and (file.name(held.func) or "").startswith(_ANSWERS)
