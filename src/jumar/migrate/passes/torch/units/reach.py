"""What runs only where a question ("is there CUDA?") was answered with yes, or only with no.

The answer is followed through `not`, `and`, `or`, `if`, ternaries, early returns, asserts, conditions of
comprehensions, decorators that skip a test, variables, and functions that hand the answer on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field
from typing import Union

from jumar.core.compat import dataclass
from jumar.migrate.passes.torch import shapes
from jumar.migrate.pyfile import PyFile

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_EXITS = {"exit", "_exit", "abort", "quit", "skipTest", "skip", "SkipTest"}
_PASSED_ON = {"bool", "any", "all", "range"}


@dataclass(slots=True)
class Reach:
    """The code behind a question."""

    nodes: list[ast.AST] = field(default_factory=list)
    """What runs only after a yes."""
    is_kept: bool = False
    """Is the answer kept in a variable, or handed on by a function?"""
    has_way_out: bool = True
    """Does a no lead somewhere, rather than to an error?"""


def behind(question: ast.expr, file: PyFile, *, yes: bool = True) -> Reach:
    """What runs only if the question is answered with yes; with `yes=False`, only if with no."""
    found = Reach()
    _follow(question, yes, file, found, set())
    return found


def _follow(at: ast.AST, yes: bool, file: PyFile, found: Reach, seen: set[tuple[ast.AST, str]]) -> None:
    """Climb from a question to the statement it decides; `yes` says whether `at` is true after a yes."""
    up = file.parent(at)
    while up is not None:
        if isinstance(up, ast.UnaryOp) and isinstance(up.op, ast.Not):
            yes = not yes
        elif isinstance(up, ast.BoolOp):
            if isinstance(up.op, ast.And) is not yes:
                return
            found.nodes += up.values[up.values.index(at) + 1 :]  # type: ignore[arg-type]
        elif isinstance(up, ast.Compare):
            answer = _compared(up, at)
            if answer is None:
                return
            yes = yes is answer
        elif isinstance(up, ast.Call) and at in up.args and shapes.last_word(up.func) in _PASSED_ON:
            pass
        elif not isinstance(up, ast.NamedExpr):
            break
        at, up = up, file.parent(up)
    if isinstance(up, (ast.If, ast.IfExp, ast.While)) and up.test is at:
        _branch(up, yes, file, found, seen)
    elif isinstance(up, ast.Assert) and yes:
        found.nodes += rest_of_block(up, file)
        found.has_way_out = False
    elif isinstance(up, ast.comprehension) and yes and (at in up.ifs or _counts(at, up.iter)):
        whole = file.parent(up)
        found.nodes += [getattr(whole, name) for name in ("elt", "key", "value") if hasattr(whole, name)]
    elif isinstance(up, (ast.For, ast.AsyncFor)) and yes and _counts(at, up.iter):
        found.nodes += up.body
    elif isinstance(up, ast.Call):
        _skipping(up, yes, file, found, seen)
    elif isinstance(up, (ast.Assign, ast.AnnAssign)) and up.value is at:
        targets = up.targets if isinstance(up, ast.Assign) else [up.target]
        for target in targets:
            _uses(target, yes, file, found, seen)
    elif isinstance(up, ast.Return):
        _calls(up, yes, file, found, seen)


def _counts(at: ast.AST, loop: ast.expr) -> bool:
    """`for i in range(device_count())`: without a card the loop does nothing."""
    return at is loop and isinstance(loop, ast.Call) and shapes.last_word(loop.func) == "range"


def _compared(compare: ast.Compare, at: ast.AST) -> bool | None:
    """Is a comparison true after a yes (True), after a no (False), or does it ask something else?"""
    other = compare.comparators[0]
    if len(compare.ops) != 1 or compare.left is not at or not isinstance(other, ast.Constant):
        return None
    op, value = type(compare.ops[0]), other.value
    if value is None or isinstance(value, bool):
        same = op in (ast.Is, ast.Eq)
        return (same is bool(value)) if same or op in (ast.IsNot, ast.NotEq) else None
    if not isinstance(value, int):
        return None
    if (op is ast.Gt and value >= 0) or (op is ast.GtE and value >= 1) or (op is ast.NotEq and value == 0):
        return True
    if (op is ast.Eq and value == 0) or (op is ast.Lt and value == 1) or (op is ast.LtE and value == 0):
        return False
    return True if op is ast.Eq else None


def _branch(
    node: ast.If | ast.IfExp | ast.While, yes: bool, file: PyFile, found: Reach, seen: set[tuple[ast.AST, str]]
) -> None:
    if isinstance(node, ast.IfExp):
        found.nodes.append(node.body if yes else node.orelse)
        return
    found.nodes += node.body if yes else node.orelse
    if yes:
        _predicate(node, file, found, seen)
    elif exits(node.body) and not node.orelse:
        found.nodes += rest_of_block(node, file)
        last = node.body[-1]
        found.has_way_out = found.has_way_out and isinstance(last, (ast.Return, ast.Continue, ast.Break))
        if isinstance(last, ast.Return) and _is_no(last):
            _calls(last, True, file, found, seen)


def _predicate(node: ast.If | ast.While, file: PyFile, found: Reach, seen: set[tuple[ast.AST, str]]) -> None:
    """`if question: … return True` in a function whose other returns say no."""
    inner = [one for part in node.body for one in ast.walk(part) if isinstance(one, ast.Return)]
    if not inner or all(_is_no(one) for one in inner):
        return
    function = file.index.function_scope(node)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    others = [one for one in ast.walk(function) if isinstance(one, ast.Return) and one not in inner]
    if others and all(_is_no(one) for one in others):
        _calls(inner[0], True, file, found, seen)


def _is_no(node: ast.Return) -> bool:
    return node.value is None or (isinstance(node.value, ast.Constant) and node.value.value in (None, False))


def _skipping(call: ast.Call, yes: bool, file: PyFile, found: Reach, seen: set[tuple[ast.AST, str]]) -> None:
    """`@unittest.skipIf(not question, …)`, `@pytest.mark.skipif(…)`, `skipUnless(question, …)`."""
    word = shapes.last_word(call.func)
    if word not in ("skipIf", "skipif", "skipUnless") or (word == "skipUnless") is not yes:
        return
    up = file.parent(call)
    while isinstance(up, (ast.List, ast.Tuple)):
        up = file.parent(up)
    if isinstance(up, DEFINITIONS) and call in up.decorator_list:
        found.nodes += up.body
    elif isinstance(up, ast.keyword) and isinstance(param := file.parent(up), ast.Call):
        found.nodes += param.args
    elif isinstance(up, ast.Assign):
        for target in up.targets:
            _decorated(target, file, found)


def _decorated(target: ast.expr, file: PyFile, found: Reach) -> None:
    """What a variable decorates; `pytestmark` decorates the whole module."""
    if not isinstance(target, ast.Name):
        return
    if target.id == "pytestmark":
        found.nodes += file.tree.body
    for use in _reads(target, file):
        up = file.parent(use)
        if isinstance(up, DEFINITIONS) and use in up.decorator_list:
            found.is_kept = True
            found.nodes += up.body


def _uses(target: ast.expr, yes: bool, file: PyFile, found: Reach, seen: set[tuple[ast.AST, str]]) -> None:
    """Every place that asks a variable for the answer."""
    scope = file.index.function_scope(target)
    key = (scope or file.tree, ast.dump(target).replace("Store()", ""))
    if key in seen:
        return
    seen.add(key)
    for use in _reads(target, file):
        found.is_kept = True
        _follow(use, yes, file, found, seen)


def _reads(target: ast.expr, file: PyFile) -> Iterator[ast.expr]:
    if isinstance(target, ast.Name):
        owner = file.index.scope[target].lookup(target.id)
        for node in file.index.nodes[ast.Name]:
            if isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Load):
                there = file.index.scope[node].lookup(node.id)
                if owner is not None and there is not None and there[0] is owner[0]:
                    yield node
    elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
        for other in file.index.nodes[ast.Attribute]:
            if (
                isinstance(other, ast.Attribute)
                and other.attr == target.attr
                and isinstance(other.ctx, ast.Load)
                and isinstance(other.value, ast.Name)
                and other.value.id == target.value.id
            ):
                yield other


def _calls(answer: ast.Return, yes: bool, file: PyFile, found: Reach, seen: set[tuple[ast.AST, str]]) -> None:
    """Every call of the function that returns the answer."""
    function = file.index.function_scope(answer)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or (function, "call") in seen:
        return
    seen.add((function, "call"))
    for call in callers(function, file):
        found.is_kept = True
        _follow(call, yes, file, found, seen)


def callers(function: Function, file: PyFile) -> Iterator[ast.Call]:
    """The calls of a function in its own file, by its name or as a method of `self`."""
    is_method = isinstance(file.parent(function), ast.ClassDef)
    kind = ast.Attribute if is_method else ast.Name
    for node in file.index.nodes[kind]:
        call = file.parent(node)
        if not isinstance(call, ast.Call) or call.func is not node or shapes.last_word(call.func) != function.name:
            continue
        if is_method:
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id in ("self", "cls")
            ):
                yield call
        elif function in called(call, file):
            yield call


def called(call: ast.Call, file: PyFile) -> list[Function | ast.ClassDef]:
    """The functions or classes of this file that a call means."""
    func = call.func
    if isinstance(func, ast.Attribute):
        if isinstance(func.value, ast.Call):
            return called(func.value, file)
        if not isinstance(func.value, ast.Name):
            return []
        if func.value.id in ("self", "cls"):
            owner = next((up for up in file.ancestors(call) if isinstance(up, ast.ClassDef)), None)
            body = owner.body if owner is not None else []
            return [
                one
                for one in body
                if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) and one.name == func.attr
            ]
        func = func.value
    if not isinstance(func, ast.Name):
        return []
    known = file.index.scope[func].lookup(func.id)
    nodes = [binding.node for binding in known[1]] if known is not None else []
    return [one for one in nodes if isinstance(one, DEFINITIONS)]


def exits(body: list[ast.stmt]) -> bool:
    """Does a block always leave what it stands in?"""
    last = body[-1]
    if isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
        return True
    return (
        isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and shapes.last_word(last.value.func) in _EXITS
    )


def block_of(node: ast.stmt, file: PyFile) -> list[ast.stmt]:
    """The statements that stand beside one, itself included."""
    up = file.parent(node)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(up, name, None)
        if isinstance(block, list) and node in block:
            return block
    return [node]


def rest_of_block(node: ast.stmt, file: PyFile) -> list[ast.stmt]:
    block = block_of(node, file)
    return block[block.index(node) + 1 :]
