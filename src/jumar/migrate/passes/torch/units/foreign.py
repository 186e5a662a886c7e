"""A device that a package with devices of its own gets: `XGBClassifier(device="cuda")` cannot become `npu`.

Such a place stays, with the questions about CUDA that decide it; so does a variable that only such calls get.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.migrate.pyfile import PyFile
from jumar.tables.third_party import own_devices


def places(file: PyFile) -> Iterator[tuple[ast.expr, str]]:
    """The expressions that only such a package gets, each with its name."""
    packages = [name for name in own_devices() if name.encode() in file.source.data and file.imports(name)]
    if not packages:
        return
    calls = [(call, root) for call in file.index.nodes[ast.Call] if (root := _root(call, file)) in packages]
    given = {id(value): root for call, root in calls for value in _values(call)}
    for call, root in calls:
        for value in _values(call):
            yield value, root
            if isinstance(value, ast.Name):
                yield from ((one, root) for one in _made_for(value, given, file))


def _root(call: ast.AST, file: PyFile) -> str:
    name = file.name(call.func) if isinstance(call, ast.Call) else None
    return (name or "").partition(".")[0]


def _values(call: ast.AST) -> list[ast.expr]:
    return [*call.args, *(one.value for one in call.keywords)] if isinstance(call, ast.Call) else []


def _made_for(name: ast.Name, given: dict[int, str], file: PyFile) -> list[ast.expr]:
    """What a variable is given, if nothing but such calls gets it."""
    known = file.index.scope[name].lookup(name.id)
    if known is None:
        return []
    scope, bindings = known
    for use in file.index.nodes[ast.Name]:
        if isinstance(use, ast.Name) and use.id == name.id and isinstance(use.ctx, ast.Load) and id(use) not in given:
            other = file.index.scope[use].lookup(use.id)
            if other is not None and other[0] is scope:
                return []
    return [one.value for one in bindings if one.value is not None]
