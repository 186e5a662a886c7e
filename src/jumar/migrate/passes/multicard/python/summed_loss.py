"""A loss that adds up the samples of a batch: cards average their gradients, so it would count for less."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate.passes.multicard import script as scripts
from jumar.migrate.passes.multicard.script import Script
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT312",
    name="summed-loss",
    summary="a loss that is the sum over the samples of a batch",
    keywords=("import",),
)
_FIX = "multiply the summed parts by `WORLD_SIZE`: gradients are averaged over the cards"


def finish(file: PyFile) -> Iterator[Finding]:
    script = scripts.of(file)
    if not script.ready:
        return
    for call in script.backwards:
        loss = call.func.value if isinstance(call.func, ast.Attribute) else None
        if loss is None or not script.here(file, call):
            continue
        kinds = _kinds(script, loss, frozenset())
        if "sum" not in kinds:
            continue
        if kinds != {"sum"} or not isinstance(loss, (ast.Name, ast.Attribute)):
            message = "this loss has parts that are sums over the batch: they count for less on several cards"
            yield file.report(RULE, call, State.HAND, message, _FIX)
            continue
        start, end = file.source.span(loss)
        edits = (Edit(start, start, b"("), Edit(end, end, b" * WORLD_SIZE)"))
        message = "the loss is a sum over the batch: averaged over the cards, its gradients would be too small"
        yield file.rewrite(RULE, call, message, *edits)


def _kinds(script: Script, node: ast.expr, seen: frozenset[ast.AST]) -> set[str]:
    """`sum` for summed parts of a loss, `mean` for parts known to be means; nothing for what cannot be told."""
    found: set[str] = set()
    for origin in script.flow.origins(node):
        if origin in seen:
            continue
        inner = seen | {origin}
        if isinstance(origin, ast.BinOp) and isinstance(origin.op, (ast.Add, ast.Sub, ast.Mult)):
            found |= _kinds(script, origin.left, inner) | _kinds(script, origin.right, inner)
        elif isinstance(origin, ast.BinOp) and isinstance(origin.op, ast.Div):
            found |= {"mean"} if "sum" in _kinds(script, origin.left, inner) else _kinds(script, origin.left, inner)
        elif isinstance(origin, ast.Call):
            found |= _of_call(script, origin)
    return found


def _of_call(script: Script, call: ast.Call) -> set[str]:
    given = script.file.keyword(call, "reduction") or _made_with(script, call)
    if given is not None:
        value = given.value
        if isinstance(value, ast.Constant):
            return {str(value.value)} & {"sum", "mean"}
        return set()
    averaged = script.file.keyword(call, "size_average")
    if averaged is not None and isinstance(averaged.value, ast.Constant) and averaged.value.value is False:
        return {"sum"}
    name = script.file.name(call.func) or ""
    if name == "torch.sum" and len(call.args) == 1 and not call.keywords:
        return {"sum"}
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr in ("mean", "sum") and not call.args and not call.keywords:
        return {func.attr}
    is_loss = name.startswith("torch.nn.functional.") and ("loss" in name or "entropy" in name)
    return {"mean"} if is_loss or name == "torch.mean" else set()


def _made_with(script: Script, call: ast.Call) -> ast.keyword | None:
    """The `reduction` that a loss object was made with."""
    for origin in script.flow.origins(call.func) if script.flow.var(call.func) is not None else ():
        if isinstance(origin, ast.Call):
            return script.file.keyword(origin, "reduction")
    return None
