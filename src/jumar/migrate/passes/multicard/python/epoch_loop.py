"""The loop over epochs: a `DistributedSampler` must hear the epoch, or every epoch has the same order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.passes.multicard import loaders
from jumar.migrate.passes.multicard import script as scripts
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT303",
    name="epoch-loop",
    summary="the loop over epochs around a split training loader",
    keywords=("import",),
)
_COUNTS = frozenset({"range", "trange", "count", "enumerate"})


def finish(file: PyFile) -> Iterator[Finding]:
    script = scripts.of(file)
    if not script.ready:
        return
    plans = [loaders.split(script, call) for call in script.training_loaders]
    if not plans or not all(plan.edits and plan.is_told_epochs for plan in plans):
        return
    for epochs in script.epochs:
        if not script.here(file, epochs.node):
            continue
        number = _number(epochs.node)
        line = f"{epochs.loader or 'train_loader'}.sampler.set_epoch({number or 'epoch'})"
        body = epochs.node.body
        edit = lines.before(file, body[0], [line]) if epochs.loader and number else None
        at = file.source.span(epochs.node.target)
        if edit is None or body[0].lineno == epochs.node.lineno:
            message = "the sampler must be told the epoch at the head of this loop"
            yield file.report(RULE, at, State.HAND, message, f"write `{line}`")
        else:
            yield file.rewrite(RULE, at, "the sampler gets the epoch", edit)
    for loop in script.loops:
        if not script.here(file, loop.node):
            continue
        around = next((up for up in file.ancestors(loop.node) if isinstance(up, (ast.For, ast.While))), None)
        if isinstance(around, ast.While):
            line = f"{file.text(loop.iterated)}.sampler.set_epoch(epoch)"
            message = "the sampler needs a number that grows with each iteration of this loop"
            yield file.report(RULE, file.source.span(around.test), State.HAND, message, f"write `{line}`")


def _number(loop: ast.For) -> str | None:
    """The loop variable that counts."""
    names = {node.id for node in ast.walk(loop.iter) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(loop.iter) if isinstance(node, ast.Attribute)}
    if not names & _COUNTS:
        return None
    target = loop.target
    if isinstance(target, ast.Tuple) and isinstance(loop.iter, ast.Call):
        first = target.elts[0]
        is_enumerate = isinstance(loop.iter.func, ast.Name) and loop.iter.func.id == "enumerate"
        return first.id if is_enumerate and isinstance(first, ast.Name) else None
    return target.id if isinstance(target, ast.Name) else None
