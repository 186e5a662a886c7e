"""`np.float`, `np.int` and their like: numpy 1.24 took them away, and MindSpore 2.10.0 comes with a newer one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MS123",
    name="numpy-alias",
    summary="a name of numpy that was another one for a type of Python",
    keywords=("numpy",),
    roots=("numpy",),
)
_PLAIN = {f"numpy.{name}": name for name in ("bool", "complex", "float", "int", "object", "str")}


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    new = _PLAIN.get(name)
    if new is None or not isinstance(node, ast.Attribute):
        return
    if not (file.settings.facts.mindspore or file.imports("mindspore")):
        return
    message = f"`{name}` is gone since numpy 1.24: it was `{new}`"
    if file.index.module.bindings.get(new):
        yield file.report(RULE, node, State.HAND, message, f"write the `{new}` of Python", name)
    else:
        yield file.rewrite(RULE, node, message, file.replace(node, new), subject=name)
