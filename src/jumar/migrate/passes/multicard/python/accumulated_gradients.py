"""Gradient accumulation: only the last backward pass before a step exchanges gradients with the other cards."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.passes.multicard import accumulation
from jumar.migrate.passes.multicard import script as scripts
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT311",
    name="accumulated-gradients",
    summary="gradients collected over several backward passes",
    keywords=("import",),
)


def finish(file: PyFile) -> Iterator[Finding]:
    script = scripts.of(file)
    if not script.ready:
        return
    for found in accumulation.find(script):
        if not script.here(file, found.at):
            continue
        if script.sharded:
            header = f"if WORLD_SIZE > 1:\n    {found.model}.set_requires_gradient_sync({found.last})"
            edit = lines.before(file, found.statements[0], header.split("\n")) if found.statements else None
            edits = [edit] if edit is not None else None
        else:
            quiet = f"{found.model}.no_sync() if WORLD_SIZE > 1 and not ({found.last})"
            header = f"with {quiet} else contextlib.nullcontext():"
            edits = lines.under(file, found.statements, header) if found.statements else None
        if edits is None:
            reason = found.reason or "a line holds other code too"
            message = f"gradients are exchanged in every step, even in accumulating ones: {reason}"
            fix = f"run the accumulating steps under `with {found.model}.no_sync():`"
            yield file.report(RULE, found.at, State.BENIGN, message, fix)
            continue
        yield file.rewrite(RULE, found.at, "gradients are exchanged in the last of the collected steps only", *edits)
