"""`num_parallel_workers=8`: MindSpore refuses more data workers than the machine has cores."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MS116",
    name="worker-count",
    summary="a number of data workers that is an error on a machine with fewer cores",
    keywords=("num_parallel_workers",),
)
_SETTERS = ("mindspore.dataset.config.set_num_parallel_workers",)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    if not calls.uses_mindspore(file):
        return
    keyword = file.keyword(node, "num_parallel_workers")
    given = keyword.value if keyword is not None else None
    if given is None and calls.is_call(file, node, _SETTERS) and node.args:
        given = node.args[0]
    if not isinstance(given, ast.Constant) or type(given.value) is not int or given.value < 2:
        return
    spelled, imports = calls.root(file, "os")
    new = f"min({given.value}, {spelled}.cpu_count() or 1)"
    message = f"{given.value} data workers are an error on a machine with fewer cores"
    yield file.rewrite(RULE, node, message, file.replace(given, new), *imports)
