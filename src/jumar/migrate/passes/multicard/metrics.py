"""Numbers added up over the batches of a loop, and what they mean when each process sees a part of the data.

The training loader is split, so its sums are parts: they are added up over the cards, or averaged when the script
divides them by the number of batches. Every card evaluates the whole test set, so those sums are complete; their mean
over the cards makes sure that all processes go on with the same number.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import NamedTuple

from jumar.migrate.flow import own_nodes
from jumar.migrate.passes.multicard.script import Script


class Total(NamedTuple):
    """A sum over the batches of a loop; `how` is `sum` or `mean`, or None with the reason why it cannot be told."""

    loop: ast.For
    name: str
    step: ast.AST
    how: str | None
    reason: str = ""


@lru_cache(maxsize=16)
def find(script: Script) -> list[Total]:
    found: list[Total] = []
    for loop in script.flow.loops:
        if not isinstance(loop, ast.For):
            continue
        iterated = script.iterated(loop.iter)
        if iterated is None or script.is_first_only(loop):
            continue
        split = script.is_split(iterated)
        totals = _totals(script, loop, iterated, split is True)
        if split is None:
            reason = "this loop runs over the split training data and over other data"
            totals = [total._replace(how=None, reason=reason) for total in totals]
        found += totals
        if split:
            found += _meters(script, loop)
    return sorted(found, key=lambda total: (total.loop.lineno, total.name))


def _totals(script: Script, loop: ast.For, iterated: ast.expr, split: bool) -> list[Total]:
    steps: dict[str, list[ast.AugAssign]] = {}
    for node in own_nodes(loop):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
            steps.setdefault(node.target.id, []).append(node)
    counters = {name for name, nodes in steps.items() if all(isinstance(node.value, ast.Constant) for node in nodes)}
    found = []
    for name, nodes in steps.items():
        if name in counters or not _is_read_behind(script, loop, name) or _is_bound_inside(loop, name):
            continue
        total = Total(loop, name, nodes[0], "mean" if not split else None)
        if not _starts_here(script, loop, nodes[0]):
            found.append(total._replace(how=None, reason="it accumulates over several loops"))
        elif loop.orelse:
            found.append(total._replace(how=None, reason="the loop has an `else`"))
        elif split:
            how = _meaning(script, loop, iterated, nodes, set(steps) - counters, counters)
            reason = "" if how else "the divisor is unknown"
            found.append(total._replace(how=how, reason=reason))
        else:
            found.append(total)
    return found


def _is_read_behind(script: Script, loop: ast.For, name: str) -> bool:
    owner = script.flow.owner(loop)
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and node.lineno > (loop.end_lineno or 0)
        for node in own_nodes(owner)
    )


def _is_bound_inside(loop: ast.For, name: str) -> bool:
    return any(
        isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
        for node in own_nodes(loop)
    )


def _starts_here(script: Script, loop: ast.For, step: ast.AugAssign) -> bool:
    """Is the sum set to a start value once before each run of the loop?"""
    var = script.flow.var(step.target)
    outer = _outer_loop(script, loop)
    if var is None or var.owner is not script.flow.owner(loop):
        return False
    return any(
        _outer_loop(script, bound.statement) is outer and bound.statement.lineno < loop.lineno
        for bound in script.flow.bounds.get(var, ())
    )


def _outer_loop(script: Script, node: ast.AST) -> ast.AST | None:
    for up in script.file.ancestors(node):
        if isinstance(up, (ast.For, ast.While)):
            return up
        if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
    return None


def _meaning(
    script: Script,
    loop: ast.For,
    iterated: ast.expr,
    nodes: list[ast.AugAssign],
    totals: set[str],
    counters: set[str],
) -> str | None:
    name = nodes[0].target.id  # type: ignore[union-attr]
    verdicts: set[str | None] = set()
    for node in own_nodes(script.flow.owner(loop)):
        if getattr(node, "lineno", 0) <= (loop.end_lineno or 0):
            continue
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            left, right = node.left, node.right
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
            left, right = node.target, node.value
        else:
            continue
        if _mentions(right, {name}):
            verdicts.add("sum")
        if _mentions(left, {name}):
            verdicts.add(_divisor(script, loop, iterated, right, totals, counters))
    if verdicts:
        return verdicts.pop() if len(verdicts) == 1 else None
    return "sum" if all(_is_count(script, node.value) for node in nodes) else None


def _divisor(
    script: Script, loop: ast.For, iterated: ast.expr, node: ast.expr, totals: set[str], counters: set[str]
) -> str | None:
    """`mean` when a sum is divided by the number of batches, `sum` when by the number of samples."""
    inside = {target.id for target in ast.walk(loop.target) if isinstance(target, ast.Name)}
    if _mentions(node, counters | inside):
        return "mean"
    if _mentions(node, totals):
        return "sum"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and node.args:
        arg = node.args[0]
        if isinstance(arg, ast.Call) and isinstance(arg.func, ast.Name) and arg.func.id == "list" and arg.args:
            arg = arg.args[0]
        if isinstance(arg, ast.Attribute) and arg.attr == "dataset":
            return "sum"
        if script.file.text(arg) == script.file.text(iterated) or script.iterated(arg) is arg:
            return "mean"
        return "sum" if script.flow.var(arg) is not None else None
    return None


def _mentions(node: ast.expr, names: set[str]) -> bool:
    return any(isinstance(inner, ast.Name) and inner.id in names for inner in ast.walk(node))


def _is_count(script: Script, node: ast.expr) -> bool:
    text = script.file.text(node)
    return ".size(0)" in text or ".shape[0]" in text or "len(" in text or ".sum()" in text


def _meters(script: Script, loop: ast.For) -> list[Total]:
    """Meter objects and lists that collect the losses of a training loop."""
    found: dict[str, Total] = {}
    for node in own_nodes(loop):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        owner = node.func.value
        if not isinstance(owner, ast.Name) or owner.id in found:
            continue
        of_loss = "loss" in script.file.text(node.args[0]) or ".item()" in script.file.text(node.args[0])
        if node.func.attr == "append" and of_loss and _is_read_behind(script, loop, owner.id):
            found[owner.id] = Total(loop, owner.id, node, None, "it lists the values of this card only")
        elif node.func.attr == "update" and (of_loss or len(node.args) == 2) and _is_meter(script, owner):
            found[owner.id] = Total(loop, owner.id, node, None, "it averages the batches of this card only")
    return list(found.values())


def _is_meter(script: Script, node: ast.Name) -> bool:
    made_by = [script.file.text(origin.func) for origin in script.flow.origins(node) if isinstance(origin, ast.Call)]
    return any("Meter" in name or "Average" in name or "Metric" in name for name in made_by)
