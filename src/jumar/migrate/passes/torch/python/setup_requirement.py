"""Requirements in `setup.py`: torch without torch_npu, and packages that need CUDA; reported, since they are code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, Safety, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.requirements import project
from jumar.tables.packages import package
from jumar.tables.versions import release_for

RULE = Rule(
    id="RQ106",
    name="setup-requirement",
    summary="a requirement of `setup.py` that torch_npu or an NPU changes",
    keywords=("install_requires", "extras_require"),
    safety=Safety.SHOW,
)
_KEYWORDS = frozenset({"install_requires", "extras_require"})


def visit_keyword(node: ast.keyword, file: PyFile) -> Iterator[Finding]:
    if node.arg not in _KEYWORDS:
        return
    found = [
        (item, project(item.value))
        for value in _values(node.value, file)
        for item in ast.walk(value)
        if isinstance(item, ast.Constant) and isinstance(item.value, str)
    ]
    names = {name for _, name in found}
    for item, name in found:
        row = package(name)
        if name == "torch" and "torch-npu" not in names:
            release = release_for(file.settings.torch)
            fix = f"add `torch_npu=={release.torch_npu}` for an Ascend machine" if release else None
            yield file.report(RULE, item, State.HAND, "torch needs torch_npu of the same version", fix)
        elif row is not None:
            yield file.report(RULE, item, row.state, f"`{name}`: {row.note}", subject=name)


def _values(node: ast.expr, file: PyFile) -> list[ast.expr]:
    """The list itself, or what a variable is given: `install_requires=REQUIRED`."""
    known = file.index.scope[node].lookup(node.id) if isinstance(node, ast.Name) else None
    given = [one.value for one in known[1] if isinstance(one.value, ast.expr)] if known is not None else []
    return given or [node]
