"""Where a script starts and ends: the place for the process group."""

from __future__ import annotations

import ast
from typing import NamedTuple

from jumar.migrate import lines
from jumar.migrate.flow import own_nodes
from jumar.migrate.passes.multicard.models import Model
from jumar.migrate.passes.multicard.training import Training
from jumar.migrate.pyfile import PyFile


class ScriptEntry(NamedTuple):
    """Where the process group starts: in front of `first` (None: at module level behind the imports)."""

    first: ast.stmt | None
    last: ast.stmt
    """The statement behind which it ends."""


def find(script: Training, models: list[Model]) -> ScriptEntry | None:
    """The place that every run passes before anything touches a card."""
    tree = script.file.tree
    owners = {script.flow.owner(loop.node) for loop in script.loops}
    places: list[ast.AST] = [*script.training_loaders, *(model.behind for model in models)]
    places += [script.flow.bounds[home][0].statement for home in script.foreign_loaders]
    owners |= {script.flow.owner(place) for place in places}
    if tree in owners and any(script.flow.owner(place) is tree and guard_of(script, place) is None for place in places):
        return ScriptEntry(None, tree.body[-1])
    return _in_function(script, owners - {tree}, tree in owners)


def end_of_imports(file: PyFile) -> ast.stmt | None:
    """The last statement of the imports at the head of the file."""
    last: ast.stmt | None = None
    for node in file.tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)) or _is_guarded_import(node):
            last = node
        elif not isinstance(node, (ast.Expr, ast.Assign)) or _uses_torch(file, node):
            break
    return last if last is not None and lines.ends_line(file, last) else None


def guard_of(script: Training, node: ast.AST) -> ast.If | None:
    """The `if __name__ == "__main__":` around a node."""
    return next((up for up in script.file.ancestors(node) if isinstance(up, ast.If) and _is_guard(up)), None)


def _is_guard(node: ast.If) -> bool:
    test = node.test
    return isinstance(test, ast.Compare) and any(
        isinstance(part, ast.Name) and part.id == "__name__" for part in [test.left, *test.comparators]
    )


def _in_function(script: Training, wanted: set[ast.AST], in_guard: bool) -> ScriptEntry | None:
    guard = next((node for node in script.file.tree.body if isinstance(node, ast.If) and _is_guard(node)), None)
    starts = [node for node in own_nodes(guard or script.file.tree) if isinstance(node, ast.Call)]
    reached: set[ast.AST] = set()
    for call in sorted(starts, key=lambda call: call.lineno):
        for target in script.flow.callees(call):
            inside = reach(script, target)
            reached |= inside
            is_here = isinstance(target, ast.FunctionDef) and script.file.file_of(target) is script.file.main
            if wanted <= inside and not in_guard and is_here:
                return _entry(script, target.body, call, target)  # type: ignore[arg-type]
    if not wanted <= reached:
        return None
    if guard is not None:
        return _entry(script, guard.body, None, None)
    return ScriptEntry(None, script.file.tree.body[-1])


def _entry(
    script: Training, body: list[ast.stmt], call: ast.Call | None, function: ast.FunctionDef | None
) -> ScriptEntry:
    first = _position(script, body)
    if function is None or not any(isinstance(node, ast.Return) for node in own_nodes(function)):
        return ScriptEntry(first, body[-1])
    assert call is not None
    return ScriptEntry(first, script.file.statement(call))


def _position(script: Training, body: list[ast.stmt]) -> ast.stmt:
    """Behind the reading of the command line if nothing of torch stands before it, else at the top."""
    start = 1 if len(body) > 1 and isinstance(body[0], ast.Expr) and body[0].value in script.file.docstrings else 0
    for at, statement in enumerate(body[:-1]):
        nodes = list(own_nodes(statement))
        if any(isinstance(node, ast.Attribute) and node.attr == "parse_args" for node in nodes):
            return body[at + 1]
        if any(isinstance(node, ast.Name) and (script.file.name(node) or "").startswith("torch") for node in nodes):
            break
        if any(isinstance(node, ast.Call) and script.flow.callees(node) for node in nodes):
            break
    return body[start]


def reach(script: Training, target: ast.AST) -> set[ast.AST]:
    """The functions that a call of `target` can come to, itself included; a class stands for all its methods."""
    found: set[ast.AST] = set()
    todo = [target]
    while todo:
        at = todo.pop()
        if at in found:
            continue
        found.add(at)
        if isinstance(at, ast.ClassDef):
            todo += [node for node in at.body if isinstance(node, ast.FunctionDef)]
        for node in ast.walk(at):
            if isinstance(node, ast.Call):
                todo += script.flow.callees(node)
            elif node is not at and isinstance(node, (ast.FunctionDef, ast.Lambda)):
                todo.append(node)
    return found


def _is_guarded_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Try) and all(isinstance(one, (ast.Import, ast.ImportFrom)) for one in node.body)


def _uses_torch(file: PyFile, node: ast.stmt) -> bool:
    return any(isinstance(inner, ast.Name) and (file.name(inner) or "").startswith("torch") for inner in ast.walk(node))
