"""Where a value in a script comes from and where it goes: assignments, arguments, returns and `self` attributes.

One walk over the tree of one file; nothing is guessed across files. `origins` follows a name backwards to the
expressions that made it, `aliases` follows it forwards to every variable that holds the same object.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Union

from jumar.migrate.pyfile import PyFile

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
LOOPS = (ast.For, ast.AsyncFor, ast.While)
MOVES = frozenset({"to", "cuda", "npu"})
CASTS = frozenset({"cpu", "half", "float", "double", "bfloat16", "type"})
SAME_OBJECT = MOVES | CASTS | {"train", "eval", "requires_grad_", "apply", "share_memory", "compile"}
"""Methods of a module that give the module back."""
WRAPPERS = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.compile"})


_Found = dict[object, list[ast.expr]]
"""What one question has followed already, by variable or functions."""


class Var(NamedTuple):
    """A variable: its owner (module, function or class node) and its name (`self.x` for attributes)."""

    owner: ast.AST
    name: str


class Bound(NamedTuple):
    """One way a variable gets a value: the expression (None when it cannot be told) and its statement."""

    value: ast.expr | None
    statement: ast.stmt


class Flow:
    def __init__(self, file: PyFile) -> None:
        self.file = file
        self.calls: list[ast.Call] = []
        self.loops: list[ast.For | ast.AsyncFor | ast.While] = []
        self.functions: list[Function] = []
        self.classes: list[ast.ClassDef] = []
        self.nodes: list[ast.AST] = []
        self.bounds: dict[Var, list[Bound]] = {}
        self.uses: dict[Var, list[ast.expr]] = {}
        self.returns: dict[ast.AST, list[ast.expr]] = {}
        self._walk()
        self.sites: dict[ast.AST, list[ast.Call]] = {}
        for call in self.calls:
            for target in self.callees(call):
                self.sites.setdefault(target, []).append(call)

    def every_node(self) -> list[ast.AST]:
        """The nodes that are looked at."""
        return list(ast.walk(self.file.tree))

    def _walk(self) -> None:
        self.nodes = self.every_node()
        for node in self.nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions.append(node)
            elif isinstance(node, ast.ClassDef):
                self.classes.append(node)
        for node in self.nodes:
            if isinstance(node, ast.Call):
                self.calls.append(node)
            elif isinstance(node, LOOPS):
                self.loops.append(node)
            elif isinstance(node, ast.Return) and node.value is not None:
                self.returns.setdefault(self.owner(node), []).append(node.value)
            elif isinstance(node, (ast.Name, ast.Attribute)):
                var = self.var(node)
                if var is not None:
                    self.uses.setdefault(var, []).append(node)
            self._bind(node)

    def _bind(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind_target(target, node.value, node)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._bind_target(node.target, node.value, node)
        elif isinstance(node, ast.NamedExpr):
            self._bind_target(node.target, node.value, self.file.statement(node))
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._bind_target(node.target, None, node)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                if item.optional_vars is not None:
                    self._bind_target(item.optional_vars, None, node)

    def _bind_target(self, target: ast.expr, value: ast.expr | None, statement: ast.stmt) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for position, part in enumerate(target.elts):
                self._bind_target(part, self._part(value, position, len(target.elts)), statement)
            return
        var = self.var(target)
        if var is not None:
            self.bounds.setdefault(var, []).append(Bound(value, statement))

    def _part(self, value: ast.expr | None, position: int, count: int) -> ast.expr | None:
        """The expression that lands in one part of a tuple target; a call to a function elsewhere stands for all."""
        if isinstance(value, (ast.Tuple, ast.List)):
            return value.elts[position] if len(value.elts) == count else None
        if not isinstance(value, ast.Call):
            return None
        found = [function for function in self.callees(value) if not isinstance(function, ast.ClassDef)]
        if not found:
            return value
        parts = [
            result.elts[position]
            for function in found
            for result in _returned(function)
            if isinstance(result, ast.Tuple) and len(result.elts) == count
        ]
        return parts[0] if len(parts) == 1 else None

    def owner(self, node: ast.AST) -> ast.AST:
        """The innermost function, or the module."""
        at = self.file.index.parent.get(node)
        while at is not None and not isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            at = self.file.index.parent.get(at)
        return at if at is not None else self.file.tree

    def var(self, node: ast.AST) -> Var | None:
        """The variable that a name or a `self.x` stands for."""
        if isinstance(node, ast.Name):
            scope = self.file.index.scope.get(node)
            found = scope.lookup(node.id) if scope is not None else None
            return Var(found[0].node, node.id) if found is not None else None
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            method = self.method_of_self(node.value)
            if method is not None:
                return Var(method, f"self.{node.attr}")
        return None

    def method_of_self(self, name: ast.Name) -> ast.ClassDef | None:
        """The class whose instance `name` is, when it is the first parameter of a method."""
        function = self.owner(name)
        while isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            up = self.file.parent(function)
            if isinstance(up, ast.ClassDef):
                first = [*function.args.posonlyargs, *function.args.args][:1]
                return up if first and first[0].arg == name.id else None
            function = self.owner(function)
        return None

    def callees(self, call: ast.Call) -> list[Function | ast.ClassDef]:
        """The functions or classes of this file that a call means."""
        func = call.func
        if isinstance(func, ast.Name):
            scope = self.file.index.scope.get(func)
            found = scope.lookup(func.id) if scope is not None else None
            nodes = [binding.node for binding in found[1]] if found is not None else []
            return [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
        if not isinstance(func, ast.Attribute):
            return []
        owner: ast.ClassDef | None = None
        if isinstance(func.value, ast.Name):
            owner = self.method_of_self(func.value)
            if owner is None:
                owner = self._class_of(func.value)
        elif isinstance(func.value, ast.Attribute):
            owner = self._class_of(func.value)
        if owner is None:
            return []
        return [node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name == func.attr]

    def _class_of(self, node: ast.expr) -> ast.ClassDef | None:
        """The class of this file that a variable is an instance of."""
        var = self.var(node)
        for bound in self.bounds.get(var, ()) if var is not None else ():
            value = bound.value
            if isinstance(value, ast.Call):
                for target in self.callees(value) if isinstance(value.func, ast.Name) else ():
                    if isinstance(target, ast.ClassDef):
                        return target
        return None

    def parameter(self, var: Var) -> ast.arg | None:
        if not isinstance(var.owner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
        args = var.owner.args
        return next((arg for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs] if arg.arg == var.name), None)

    def arguments(self, var: Var) -> list[ast.expr]:
        """What the calls in this file pass for a parameter."""
        function = var.owner
        assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        names = [arg.arg for arg in [*function.args.posonlyargs, *function.args.args]]
        up = self.file.parent(function)
        sites = list(self.sites.get(function, ()))
        if isinstance(up, ast.ClassDef):
            names = names[1:]
            if function.name == "__init__":
                sites += self.sites.get(up, [])
        found = []
        for call in sites:
            given = self.file.argument(call, names.index(var.name) if var.name in names else 99, var.name)
            if given is not None:
                found.append(given)
        return found

    def origins(self, node: ast.expr | None) -> list[ast.expr]:
        """The expressions that made the value of `node`, followed back as far as this file tells."""
        return self._origins(node, {})

    def _origins(self, node: ast.expr | None, found: _Found) -> list[ast.expr]:
        if node is None:
            return []
        var = self.var(node)
        if var is not None:
            values: list[ast.expr | None] = [bound.value for bound in self.bounds.get(var, ())]
            if self.parameter(var) is not None:
                values += self.arguments(var)
            return self._of_all(var, values, found)
        if isinstance(node, ast.IfExp):
            return self._origins(node.body, found) + self._origins(node.orelse, found)
        if isinstance(node, ast.Call):
            func = node.func
            if self.file.name(func) in WRAPPERS and node.args:
                return self._origins(node.args[0], found)
            local = [target for target in self.callees(node) if not isinstance(target, ast.ClassDef)]
            results = [result for target in local for result in self.returns.get(target, ())]
            if results:
                return self._of_all(tuple(local), results, found)
            if isinstance(func, ast.Attribute) and func.attr in SAME_OBJECT:
                return self._origins(func.value, found) or [node]
        return [node]

    def _of_all(self, key: object, values: Iterable[ast.expr | None], found: _Found) -> list[ast.expr]:
        """Those of a variable or of a function's results: each is followed once, and not into itself."""
        if key not in found:
            found[key] = []
            found[key] = list(dict.fromkeys(origin for value in values for origin in self._origins(value, found)))
        return found[key]

    def homes(self, var: Var, seen: frozenset[Var] = frozenset()) -> list[Var]:
        """The variables in which an object is made, followed back through parameters."""
        if var in seen:
            return []
        if self.parameter(var) is not None and not self.bounds.get(var):
            given = [self.var(arg) for arg in self.arguments(var)]
            return [home for one in given if one is not None for home in self.homes(one, seen | {var})]
        return [var] if var in self.bounds else []

    def aliases(self, home: Var) -> set[Var]:
        """Every variable that holds the object of `home`, through arguments and plain assignments."""
        found = {home}
        todo = [home]
        while todo:
            for use in self.uses.get(todo.pop(), ()):
                for var in self._reached(use):
                    if var not in found:
                        found.add(var)
                        todo.append(var)
        return found

    def _reached(self, use: ast.expr) -> Iterator[Var]:
        """The variables that one use of an object hands it on to."""
        at: ast.expr = use
        up = self.file.parent(at)
        while isinstance(up, ast.Attribute) and up.attr in SAME_OBJECT:
            call = self.file.parent(up)
            if not isinstance(call, ast.Call) or call.func is not up:
                return
            at, up = call, self.file.parent(call)
        if isinstance(up, ast.keyword):
            call = self.file.parent(up)
            if isinstance(call, ast.Call) and up.arg is not None:
                yield from (Var(function, up.arg) for function, _ in self._signatures(call))
        elif isinstance(up, ast.Call) and at in up.args:
            position = up.args.index(at)
            for function, names in self._signatures(up):
                if position < len(names):
                    yield Var(function, names[position])
        elif isinstance(up, ast.Assign) and up.value is at:
            yield from (var for target in up.targets if (var := self.var(target)) is not None)
        elif isinstance(up, (ast.Return, ast.Tuple)):
            yield from self._returned_to(at, up)

    def _signatures(self, call: ast.Call) -> Iterator[tuple[ast.AST, list[str]]]:
        """The functions that a call runs, with the names that its positional arguments get."""
        for target in self.callees(call):
            function = _initializer(target) if isinstance(target, ast.ClassDef) else target
            if function is not None:
                names = [arg.arg for arg in [*function.args.posonlyargs, *function.args.args]]
                is_method = isinstance(self.file.parent(function), ast.ClassDef)
                yield function, names[1:] if is_method else names

    def _returned_to(self, value: ast.expr, up: ast.Return | ast.Tuple) -> Iterator[Var]:
        """The variables in callers that a returned value lands in."""
        outer = self.file.parent(up) if isinstance(up, ast.Tuple) else up
        if not isinstance(outer, ast.Return):
            return
        for call in self.callers(self.owner(outer)):
            assign = self.file.parent(call)
            for target in assign.targets if isinstance(assign, ast.Assign) and assign.value is call else ():
                if isinstance(up, ast.Tuple):
                    if not isinstance(target, ast.Tuple) or len(target.elts) != len(up.elts):
                        continue
                    target = target.elts[up.elts.index(value)]
                var = self.var(target)
                if var is not None:
                    yield var

    def callers(self, function: ast.AST) -> list[ast.Call]:
        return self.sites.get(function, [])

    def contains(self, node: ast.AST, kind: str) -> bool:
        """Does the code under `node` call a method named `kind`, not counting functions defined inside?"""
        return any(
            isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == kind
            for inner in own_nodes(node)
        )


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below `node` without the bodies of functions and classes defined in it."""
    todo = list(ast.iter_child_nodes(node))
    while todo:
        at = todo.pop()
        yield at
        if not isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            todo.extend(ast.iter_child_nodes(at))


def _returned(function: ast.AST) -> list[ast.expr]:
    return [node.value for node in own_nodes(function) if isinstance(node, ast.Return) and node.value is not None]


def _initializer(target: ast.ClassDef) -> Function | None:
    return next((node for node in target.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"), None)
