"""A loop over epochs that a result ends: all processes must end it in the same epoch, or the others wait for ever."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.flow import own_nodes
from jumar.migrate.passes.multicard import script as scripts
from jumar.migrate.passes.multicard.script import Script
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT313",
    name="early-stop",
    summary="a training loop that a result ends",
    keywords=("import",),
)

_RESULTS = (
    "loss", "acc", "score", "stop", "patien", "best", "metric", "nan", "improve", "wait", "counter", "psnr", "bleu"
)  # fmt: skip
"""What names of results, and of what is drawn from them, have in them."""


def finish(file: PyFile) -> Iterator[Finding]:
    script = scripts.of(file)
    if not script.ready:
        return
    for epochs in script.epochs:
        if not script.here(file, epochs.node):
            continue
        for test in _ends(script, epochs.node):
            decided = file.replace(test, f"first_decides({file.text(test)})")
            yield file.rewrite(RULE, test, "the first process decides for all when training ends", decided)
    for loop in script.loops:
        if script.here(file, loop.node):
            for test in _steps_out(script, loop.node):
                message = "this process may leave the loop alone, and the others would wait for it"
                fix = "let all decide together: `first_decides(…)` in each step, on every process"
                yield file.report(RULE, test, State.HAND, message, fix)


def _ends(script: Script, loop: ast.For) -> list[ast.expr]:
    """The tests directly in an epoch loop under which it ends, unless they only count."""
    counts = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    return [
        node.test
        for node in loop.body
        if isinstance(node, ast.If) and _leaves(node) and not _only_counts(script, node.test, counts)
    ]


def _leaves(node: ast.If) -> bool:
    return any(isinstance(one, ast.Break) for part in node.body for one in [part, *_flat(part)])


def _flat(node: ast.AST) -> Iterator[ast.AST]:
    """What is below, without inner loops: their `break` is their own."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.For, ast.While, ast.FunctionDef, ast.Lambda)):
            yield child
            yield from _flat(child)


def _only_counts(script: Script, test: ast.expr, counts: set[str]) -> bool:
    """Is this about numbers of steps, limits and options: the same on every process?"""
    loads = [node for node in ast.walk(test) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return all(node.id in counts or _is_same(script, node) for node in loads)


def _is_same(script: Script, node: ast.Name) -> bool:
    up: ast.AST = node
    while isinstance(script.file.parent(up), ast.Attribute):
        up = script.file.parent(up)  # type: ignore[assignment]
    text = script.file.text(up).lower()  # type: ignore[arg-type]
    return not any(word in text for word in _RESULTS)


def _steps_out(script: Script, loop: ast.For | ast.While) -> list[ast.expr]:
    """The tests of a loss in the loop over batches under which it ends or skips a step."""
    found = []
    for node in own_nodes(loop):
        if isinstance(node, ast.If) and any(isinstance(one, (ast.Break, ast.Continue)) for one in node.body):
            text = script.file.text(node.test).lower()
            if "loss" in text and any(word in text for word in ("nan", "inf", "<", ">")):
                found.append(node.test)
    return found
