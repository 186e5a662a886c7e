"""The end of the program: results go out in a `finally`, also after an error."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.passes.cloud import helper
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MA106",
    name="main-block",
    summary="a main program that does not send its results",
    keywords=("__main__", helper.NAME),
    last=True,
)


def finish(file: PyFile) -> Iterator[Finding]:
    assert file.settings.cloud is not None
    if file.source.path != file.settings.cloud.boot or _sends(file):
        return
    guard = next((node for node in file.tree.body if isinstance(node, ast.If) and _is_guard(node)), None)
    edits = _edits(file, guard.body) if guard is not None else None
    if guard is None or edits is None:
        if helper.NAME in file.imported:
            message = "results are sent when the program ends: there is no `if __name__ …` block"
            yield file.report(RULE, file.tree.body[-1], State.BENIGN, message)
        return
    message = "results are sent at the end, also after an error"
    yield file.rewrite(RULE, guard.test, message, *edits, needs=helper.NEEDS)


def _sends(file: PyFile) -> bool:
    return any(isinstance(node, ast.Call) and helper.is_call(file, node, "upload") for node in ast.walk(file.tree))


def _is_guard(node: ast.If) -> bool:
    test = node.test
    return isinstance(test, ast.Compare) and any(
        isinstance(part, ast.Name) and part.id == "__name__" for part in [test.left, *test.comparators]
    )


def _edits(file: PyFile, body: list[ast.stmt]) -> list[Edit] | None:
    inside = lines.under(file, body, "try:")
    behind = lines.after(file, body[-1], ["finally:", f"    {helper.NAME}.upload()"])
    return None if inside is None or behind is None else [*inside, behind]
