"""Gradient accumulation: several backward passes for one step of the optimizer; only the last one need be exchanged.

Two forms are known: `if (i + 1) % n == 0:` around `optimizer.step()` in the loop over batches, and a loop of its own
over micro-batches with the step behind it.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import NamedTuple

from jumar.migrate.flow import own_nodes
from jumar.migrate.passes.multicard import uses
from jumar.migrate.passes.multicard.script import Script


class Accumulation(NamedTuple):
    """Backward passes that are collected; `reason` says why they are left to a person."""

    at: ast.expr
    model: str
    last: str
    """The condition under which a pass is the last one before a step."""
    statements: list[ast.stmt]
    """From the forward pass to the backward pass."""
    reason: str = ""


@lru_cache(maxsize=16)
def find(script: Script) -> list[Accumulation]:
    found = []
    for call in script.backwards:
        loop = next((up for up in script.file.ancestors(call) if isinstance(up, (ast.For, ast.While))), None)
        if loop is None:
            continue
        condition = _condition(script, loop) or _last_turn(script, loop)
        if condition is not None:
            found.append(_plan(script, loop, call, *condition))
    return found


def _condition(script: Script, loop: ast.For | ast.While) -> tuple[ast.expr, str] | None:
    """The test of `if (step + 1) % n == 0:` around the step, in the loop that also calls `backward`."""
    for node in own_nodes(loop):
        if isinstance(node, ast.If) and any(isinstance(one, ast.Mod) for one in ast.walk(node.test)):
            body = ast.Module(body=node.body, type_ignores=[])
            if script.flow.contains(body, "step") and script.flow.contains(body, "zero_grad"):
                return node.test, script.file.text(node.test)
    return None


def _last_turn(script: Script, loop: ast.For | ast.While) -> tuple[ast.expr, str] | None:
    """`for micro in range(n):` with the step of the optimizer behind it."""
    if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name) or script.flow.contains(loop, "step"):
        return None
    numbers = loop.iter
    is_range = isinstance(numbers, ast.Call) and isinstance(numbers.func, ast.Name) and numbers.func.id == "range"
    if not is_range or len(numbers.args) != 1:  # type: ignore[attr-defined]
        return None
    around = script.file.parent(loop)
    block = next((b for f in ("body", "orelse") if isinstance(b := getattr(around, f, None), list) and loop in b), [])
    behind = block[block.index(loop) + 1 :] if loop in block else []
    if not any(script.flow.contains(ast.Module(body=[one], type_ignores=[]), "step") for one in behind):
        return None
    count = script.file.text(numbers.args[0])  # type: ignore[attr-defined]
    return loop.iter, f"{loop.target.id} == {count} - 1"


def _plan(script: Script, loop: ast.For | ast.While, call: ast.Call, at: ast.expr, last: str) -> Accumulation:
    model = _model(script, loop)
    if model is None:
        return Accumulation(at, "model", last, [], "it is unclear which model runs here")
    name, forward = model
    first, end = script.file.statement(forward), script.file.statement(call)
    block = next((b for b in (loop.body,) if _top(script, b, first) and _top(script, b, end)), None)
    if block is None:
        return Accumulation(at, name, last, [], "the forward and the backward pass are not in one block")
    start, stop = block.index(_top(script, block, first)), block.index(_top(script, block, end))  # type: ignore[arg-type]
    statements = block[start : stop + 1]
    names = {node.id for node in ast.walk(at) if isinstance(node, ast.Name)} if not isinstance(at, ast.Call) else set()
    changed = {
        node.id
        for one in block
        for node in ast.walk(one)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.lineno >= statements[0].lineno
    }
    if names & changed:
        return Accumulation(at, name, last, [], f"`{sorted(names & changed)[0]}` changes after the forward pass")
    if at in [node for one in statements for node in ast.walk(one)] or len(script.models) != 1:
        return Accumulation(at, name, last, [], "the step is not behind the backward pass, or there are several models")
    return Accumulation(at, name, last, statements)


def _model(script: Script, loop: ast.For | ast.While) -> tuple[str, ast.Call] | None:
    """The spelling of the model in this loop, and its first call."""
    calls = [node for node in own_nodes(loop) if isinstance(node, ast.Call) and uses.is_forward(script, node)]
    if not calls:
        return None
    first = min(calls, key=lambda call: (call.lineno, call.col_offset))
    return script.file.text(first.func), first


def _top(script: Script, block: list[ast.stmt], statement: ast.stmt) -> ast.stmt | None:
    """The statement of a block that holds another one."""
    at: ast.AST = statement
    while at not in block:
        up = script.file.parent(at)
        if up is None:
            return None
        at = up
    return at
