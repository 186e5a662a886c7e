"""Kernels as Python functions: every operation of their text becomes a call of the runtime in language.py.

Triton's compiler walks the text of a kernel and asks its semantics for each operator; the rewritten function asks the
same semantics while it runs, and Python itself runs the branches and the loops.
"""

from __future__ import annotations

import ast
import inspect
import itertools
from typing import Any

RUNTIME = "_jumar"
_ATTRIBUTES = {"T", "value"}


class _Rewrite(ast.NodeTransformer):
    """What replaces a node stands on its line: errors name the line of the kernel."""

    def __init__(self) -> None:
        self._numbers = itertools.count()

    def visit(self, node: ast.AST) -> Any:
        made = super().visit(node)
        return ast.copy_location(made, node) if hasattr(node, "lineno") else made

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list, node.returns = [], None
        for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            arg.annotation = None
        node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]
        node.args.kw_defaults = [one and ast.Constant(None) for one in node.args.kw_defaults]
        node.body = [self.visit(statement) for statement in _freeing(node)]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        return _call("binary", ast.Constant(type(node.op).__name__), self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        return _call("unary", ast.Constant(type(node.op).__name__), self.visit(node.operand))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        names = ast.Tuple([ast.Constant(type(op).__name__) for op in node.ops], ast.Load())
        return _call("compare", names, *(self.visit(one) for one in (node.left, *node.comparators)))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        return _call("logic", ast.Constant(type(node.op).__name__), *(_later(self.visit(one)) for one in node.values))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        return _call("item", self.visit(node.value), self._index(node.slice))

    def _index(self, node: ast.AST) -> ast.expr:
        if isinstance(node, ast.Slice):
            ends = [self.visit(one) if one else ast.Constant(None) for one in (node.lower, node.upper, node.step)]
            return ast.Call(ast.Name("slice", ast.Load()), ends, [])
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self._index(one) for one in node.elts], ast.Load())
        found: ast.expr = self.visit(node)
        return found

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.attr in _ATTRIBUTES:
            return _call("attribute", self.visit(node.value), ast.Constant(node.attr))
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        words = [self.visit(one) for one in node.args]
        keywords = [self.visit(one) for one in node.keywords]
        if isinstance(node.func, ast.Attribute):
            target: list[ast.expr] = [self.visit(node.func.value), ast.Constant(node.func.attr)]
            return ast.Call(_runtime("call_method"), [*target, *words], keywords)
        return ast.Call(_runtime("call"), [self.visit(node.func), *words], keywords)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        node.value = _call("assigned", self.visit(node.value))
        node.targets = [self.visit(one) for one in node.targets]
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        node.value = _call("assigned", self.visit(node.value))
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if node.value is None:
            return ast.Pass()
        how = "constant" if "constexpr" in ast.unparse(node.annotation) else "assigned"
        return ast.Assign([node.target], _call(how, self.visit(node.value)))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        now = ast.parse(ast.unparse(node.target), mode="eval").body
        return self.visit_Assign(ast.Assign([node.target], ast.BinOp(now, node.op, node.value)))

    def visit_If(self, node: ast.If) -> ast.AST:
        if _leaves(node):
            return self._tested(node)
        names = _names(node)
        self.generic_visit(node)
        side = f"{RUNTIME}_side{next(self._numbers)}"
        test, other = node.test, ast.Constant(bool(node.orelse))
        node.test = ast.Name(side, ast.Load())
        return self._together(ast.Name(side, ast.Store()), _call("sides", test, other), [node], names)

    def visit_While(self, node: ast.While) -> ast.AST:
        if node.orelse or any(_leaves(one) for one in node.body):
            return self._tested(node)
        names = _names(node)
        self.generic_visit(node)
        turn = ast.Name(f"{RUNTIME}_turn{next(self._numbers)}", ast.Store())
        return self._together(turn, _call("turns", _later(node.test)), node.body, names)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return _call("chosen", node.test, _later(node.body), _later(node.orelse))

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        message = self.visit(node.msg) if node.msg else ast.Constant("")
        return ast.Expr(_call("asserted", self.visit(node.test), message))

    def _tested(self, node: Any) -> Any:
        self.generic_visit(node)
        node.test = _call("truth", node.test)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        together = not node.orelse and not any(_leaves(one) for one in node.body)
        names = _names(*node.body)
        self.generic_visit(node)
        if together:
            return self._together(node.target, _call("iterate_together", node.iter), node.body, names)
        node.iter = _call("iterate", node.iter)
        return node

    def _together(self, target: ast.expr, turns: ast.expr, body: list[Any], names: list[str]) -> ast.AST:
        """Turns in which lanes may sit out: these keep what the names meant before."""
        if names:
            old, names_of = f"{RUNTIME}_old{next(self._numbers)}", repr(tuple(names))
            before = f"{old} = {RUNTIME}.kept(locals(), {names_of}) if {RUNTIME}.narrowed() else None"
            after = f"if {old} is not None:\n    {', '.join(names)}, = {RUNTIME}.merged({old}, locals(), {names_of})"
            body = [*ast.parse(before).body, *body, *ast.parse(after).body]
        return ast.For(target=target, iter=turns, body=body, orelse=[])

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node


def rewritten(kernel: Any, runtime: Any) -> Any:
    """The function that runs a kernel's text in the runtime; its globals and closure stay its own."""
    function = kernel.fn
    node = ast.parse(kernel.src).body[0]
    cells = dict(zip(function.__code__.co_freevars, (cell.cell_contents for cell in function.__closure__ or ())))
    outer = ast.parse(f"def make({', '.join([RUNTIME, *cells])}):\n    return {function.__name__}").body[0]
    assert isinstance(outer, ast.FunctionDef)
    outer.body.insert(0, _Rewrite().visit(node))
    module = ast.fix_missing_locations(ast.Module([outer], []))
    ast.increment_lineno(module, first_line(kernel) - 1)
    made: dict[str, Any] = {}
    exec(compile(module, function.__code__.co_filename, "exec"), function.__globals__, made)
    inner = made["make"](runtime, *cells.values())
    inner.__defaults__, inner.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return inner


def first_line(kernel: Any) -> int:
    """Where the text without decorators begins in its file."""
    lines, number = inspect.getsourcelines(kernel.fn)
    return number + next((place for place, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)


def _freeing(node: ast.FunctionDef) -> list[ast.stmt]:
    """The statements of a function, each followed by the end of the names that nothing later mentions.

    A compiler gives the memory of a value to the next one; Python would keep what has a name.
    """
    parameters = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
    last: dict[str, int] = {}
    for place, statement in enumerate(node.body):
        last.update({one.id: place for one in ast.walk(statement) if isinstance(one, ast.Name)})
    made = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    body: list[ast.stmt] = []
    for place, statement in enumerate(node.body):
        body.append(statement)
        ended = sorted(name for name in made - parameters if last[name] == place)
        if ended and not isinstance(statement, ast.Return):
            body += [ast.parse(f"{name}: constexpr = None").body[0] for name in ended]
    return body


def _leaves(node: ast.AST, *, inside: bool = False) -> bool:
    """Whether a statement ends a turn of the loop around it, or the function."""
    if isinstance(node, ast.Return) or (isinstance(node, (ast.Break, ast.Continue)) and not inside):
        return True
    inside = inside or isinstance(node, (ast.For, ast.While))
    return any(_leaves(one, inside=inside) for one in ast.iter_child_nodes(node))


def _names(*nodes: ast.AST) -> list[str]:
    """What statements give a new value to."""
    every = (one for node in nodes for one in ast.walk(node))
    return sorted({one.id for one in every if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)})


def _later(body: ast.expr) -> ast.expr:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(nothing, body)


def _runtime(name: str) -> ast.expr:
    return ast.Attribute(ast.Name(RUNTIME, ast.Load()), name, ast.Load())


def _call(name: str, *words: ast.expr) -> ast.expr:
    return ast.Call(_runtime(name), list(words), [])
