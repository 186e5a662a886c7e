"""The end of a training program: the process group is left in good order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.passes.multicard import script as scripts
from jumar.migrate.passes.multicard import text
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT310",
    name="end-of-program",
    summary="the end of a training program that joined a process group",
    keywords=("import",),
)


def finish(file: PyFile) -> Iterator[Finding]:
    script = scripts.of(file)
    if not script.ready or script.entry is None or not script.is_main(file):
        return
    last = script.entry.last
    _, end = file.source.span(last)
    stop = lines.after(file, last, text.STOP)
    if stop is None or _leaves(last):
        fix = "call `torch.distributed.destroy_process_group()` before the program ends"
        yield file.report(RULE, (end, end), State.HAND, "the process group is not left at the end", fix)
        return
    yield file.rewrite(RULE, (end, end), "the process group is left at the end", stop)


def _leaves(last: ast.stmt) -> bool:
    """Does the last statement end the program itself, so that nothing behind it would run?"""
    if isinstance(last, (ast.Return, ast.Raise)):
        return True
    return isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and "exit" in ast.unparse(last.value.func)
