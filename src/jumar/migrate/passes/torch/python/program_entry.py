"""`--to import`: the program's entry point gets the import that patches torch when it starts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.migrate import imports
from jumar.migrate.passes.torch.styles import runtime
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.migrate.settings import Style

RULE = Rule(
    id="PT104",
    name="program-entry",
    summary="a program that needs the run-time migration import",
    keywords=("torch",),
)
_WORK = (ast.For, ast.While, ast.With)


def finish(file: PyFile) -> Iterator[Finding]:
    if file.settings.to is not Style.IMPORT or not file.imports("torch") or not _is_entry(file):
        return
    for edit in imports.insert(file, list(runtime.IMPORTS), after="torch"):
        message = "this program starts with `transfer_to_npu`, which patches torch"
        yield file.rewrite(RULE, (edit.start, edit.end), message, edit)


def _is_entry(file: PyFile) -> bool:
    """A main guard, or work at the top level that is more than definitions."""
    return file.is_script or any(
        isinstance(node, _WORK)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _is_training(node.value))
        for node in file.tree.body
    )


def _is_training(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in ("main", "train", "fit", "run", "backward", "step", "init_process_group", "launch", "spawn")
