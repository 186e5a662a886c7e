"""What only the first process may do: write files, show progress, keep event logs."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import NamedTuple

from jumar.migrate.flow import own_nodes
from jumar.migrate.passes.multicard import uses
from jumar.migrate.passes.multicard.script import Script

METHODS = frozenset({"savefig", "save_pretrained", "push_to_hub", "to_csv"})
WRITE_MODES = ("w", "a", "x")


class Write(NamedTuple):
    """Neighbouring statements that write; `reason` says why they are left to a person."""

    statements: list[ast.stmt]
    what: str
    reason: str = ""
    gathers: ast.expr | None = None
    """The `torch.save` whose value all processes of a sharded model must make together."""


@lru_cache(maxsize=16)
def find(script: Script) -> list[Write]:
    """The statements that write files and do not stand under a test of the rank yet."""
    found: dict[ast.stmt, Write] = {}
    for call, what in [*script.calls_named("writes"), *_methods(script), *_opens(script)]:
        statement = _statement(script, call)
        if script.is_first_only(statement) or statement in found or not script.is_reached(call):
            continue
        reason = _reason(script, statement)
        gathers = call.func if script.sharded and what == "torch.save" and _has_state(script, call) else None
        if script.sharded and gathers is None and _has_state(script, statement):
            reason = "it gathers the state of the sharded model, which all processes must do together"
        found[statement] = Write([statement], what, reason, gathers)
    inner = {node for statement in found for node in own_nodes(statement)}
    ordered = sorted((w for s, w in found.items() if s not in inner), key=lambda write: write.statements[0].lineno)
    return grouped(script, ordered)


def _has_state(script: Script, node: ast.AST) -> bool:
    """Is the state of the model or of its optimizer asked for here?"""
    states = {use.node for use in [*uses.find(script), *uses.optimizer_states(script)] if use.reason is None}
    return any(inner in states for inner in ast.walk(node))


def _statement(script: Script, call: ast.Call) -> ast.stmt:
    """The statement to guard: the `with open(…)` around a write, else the statement of the call."""
    statement = script.file.statement(call)
    for up in script.file.ancestors(call):
        if isinstance(up, ast.With) and any(_is_open(item.context_expr) for item in up.items):
            return up
        if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.While)):
            break
    return statement


def _reason(script: Script, statement: ast.stmt) -> str:
    if not isinstance(statement, (ast.Expr, ast.With)):
        return "its result is used"
    for node in own_nodes(statement):
        if uses.is_forward(script, node):
            return "it runs the model, which all processes must do together"
        if isinstance(node, ast.Call):
            for target in script.flow.callees(node):
                if target in script.trainers or any(uses.is_forward(script, one) for one in own_nodes(target)):
                    return "it runs the model, which all processes must do together"
    return ""


def grouped(script: Script, writes: list[Write]) -> list[Write]:
    """Direct neighbours in one block go under one test."""
    found: list[Write] = []
    for write in writes:
        last = found[-1] if found else None
        alike = last is not None and not (last.reason or write.reason or last.gathers or write.gathers)
        if last is not None and alike and _is_next(script, last.statements[-1], write.statements[0]):
            last.statements.append(write.statements[0])
            continue
        found.append(write)
    return found


def _is_next(script: Script, one: ast.stmt, other: ast.stmt) -> bool:
    up = script.file.parent(one)
    for field in ("body", "orelse", "finalbody"):
        block = getattr(up, field, None)
        if isinstance(block, list) and one in block and other in block:
            near = other.lineno == (one.end_lineno or 0) + 1
            return near and block.index(other) == block.index(one) + 1
    return False


def _methods(script: Script) -> list[tuple[ast.Call, str]]:
    return [
        (call, call.func.attr)
        for call in script.flow.calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in METHODS
        and script.file.name(call.func) is None
        and isinstance(script.file.parent(call), ast.Expr)
    ]


def _opens(script: Script) -> list[tuple[ast.Call, str]]:
    return [(call, "open") for call in script.flow.calls if _is_open(call) and not _is_module_method(script, call)]


def _is_open(node: ast.expr) -> bool:
    """Is this `open(…)` for writing?"""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "open":
        return False
    mode = node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg == "mode"), None)
    return isinstance(mode, ast.Constant) and str(mode.value).startswith(WRITE_MODES)


def _is_module_method(script: Script, call: ast.Call) -> bool:
    """Code of a logger class: left to the place that uses it."""
    owner = script.flow.owner(call)
    return isinstance(script.file.parent(owner), ast.ClassDef)
