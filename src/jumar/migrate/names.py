"""What a name means: imports and scopes, so that only the real `torch.cuda` is touched.

A name resolves when every binding it can have in its scope is an import of the same thing, or a plain second
name for one (`accel = torch.cuda`). Anything else (a parameter, a loop variable, a user's class) does not.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from jumar.core.compat import MatchAs, MatchMapping, MatchSingleton, MatchStar

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Binding(NamedTuple):
    target: str | None
    """Full dotted name for an import, else None."""
    value: ast.expr | None
    """The assigned expression of a plain assignment."""
    node: ast.AST


class Scope:
    """One namespace: a module, class, function or comprehension."""

    __slots__ = ("bindings", "elsewhere", "node", "parent")

    def __init__(self, node: ast.AST, parent: Scope | None) -> None:
        self.node = node
        self.parent = parent
        self.bindings: dict[str, list[Binding]] = {}
        self.elsewhere: dict[str, str] = {}

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    def bind(self, name: str, target: str | None, value: ast.expr | None, node: ast.AST) -> None:
        self.bindings.setdefault(name, []).append(Binding(target, value, node))

    def lookup(self, name: str) -> tuple[Scope, list[Binding]] | None:
        """The scope that owns `name` as seen from here, with its bindings there."""
        scope: Scope | None = self
        if name in self.elsewhere:
            scope = self._declared_elsewhere(name)
        first = True
        while scope is not None:
            if (first or not scope.is_class) and name in scope.bindings:
                return scope, scope.bindings[name]
            first = False
            scope = scope.parent
        return None

    def module(self) -> Scope:
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def _declared_elsewhere(self, name: str) -> Scope | None:
        return self.module() if self.elsewhere[name] == "global" else self.parent


class Index:
    """One walk over a module: parents, scopes, and the nodes by type."""

    def __init__(self, tree: ast.Module, wanted: frozenset[type[ast.AST]]) -> None:
        self.tree = tree
        self.parent: dict[ast.AST, ast.AST] = {}
        self.scope: dict[ast.AST, Scope] = {}
        """Scope of every `Name`, import, function and class node."""
        self.nodes: dict[type[ast.AST], list[ast.AST]] = {kind: [] for kind in wanted}
        self.module = Scope(tree, None)
        self.imports: list[ast.Import | ast.ImportFrom] = []
        self.classes: list[ast.ClassDef] = []
        self.known: set[str] = set()
        """Names that somewhere in the file stand for an import, or for another name: all others resolve to nothing."""
        self._resolved: dict[tuple[int, str], str | None] = {}
        self._walk(tree)

    def _walk(self, tree: ast.Module) -> None:
        """Each node before its children, in the order of the text; a scope on the stack is that of what follows it."""
        parent, own_scope, scope = self.parent, self.scope, self.module
        plans = {kind: (self.nodes.get(kind), _BINDERS.get(kind), _CHILDREN[kind]) for kind in _CHILDREN}
        name_type, store, enters = ast.Name, ast.Store, _INNER
        stack: list[Any] = [tree]
        push, pop = stack.append, stack.pop
        while stack:
            node = pop()
            kind = type(node)
            if kind is Scope:
                scope = node
                continue
            wanted, binder, fields = plans[kind]
            if wanted is not None:
                wanted.append(node)
            if binder is not None:
                own_scope[node] = scope
                if kind is not name_type or type(node.ctx) is store:
                    binder(self, node, scope)
            if kind in enters:
                self._enter(node, scope, stack)
                continue
            for field in fields:
                value = getattr(node, field, None)
                if type(value) is list:
                    for child in reversed(value):
                        if child is not None:
                            parent[child] = node
                            push(child)
                elif value is not None:
                    parent[value] = node
                    push(value)

    def _enter(self, node: ast.AST, scope: Scope, stack: list[Any]) -> None:
        """Put the children of a node with a scope of its own on the stack, each part behind the scope it is in."""
        inner = Scope(node, scope)
        self.scope[node] = inner if isinstance(node, COMPREHENSIONS) else scope
        if isinstance(node, FUNCTIONS):
            _bind_arguments(inner, node.args)
        stack.append(scope)
        for field in _CHILDREN[type(node)]:
            value = getattr(node, field, None)
            children = [child for child in (value if isinstance(value, list) else (value,)) if child is not None]
            self.parent.update(dict.fromkeys(children, node))
            stack.extend(reversed(children))
            stack.append(inner if field in _INNER[type(node)] else scope)

    def function_scope(self, node: ast.AST) -> ast.AST | None:
        """The innermost function, class or module node around `node`."""
        at = self.parent.get(node)
        while at is not None and not isinstance(at, (*FUNCTIONS, ast.ClassDef, ast.Module)):
            at = self.parent.get(at)
        return at

    def resolve(self, name: str, scope: Scope) -> str | None:
        """Full dotted name that `name` stands for in `scope`, or None."""
        found = scope.lookup(name)
        if found is None:
            return None
        owner, bindings = found
        key = (id(owner), name)
        if key not in self._resolved:
            self._resolved[key] = None
            self._resolved[key] = self._meaning(owner, bindings)
        return self._resolved[key]

    def _meaning(self, owner: Scope, bindings: list[Binding]) -> str | None:
        targets = {binding.target for binding in bindings if binding.target}
        if len(targets) == 1:
            others = [binding for binding in bindings if not binding.target]
            if all(self._is_import_fallback(binding.node) for binding in others):
                return next(iter(targets))
            return None
        if targets or len(bindings) != 1 or bindings[0].value is None:
            return None
        return self.qualified(bindings[0].value)

    def _is_import_fallback(self, node: ast.AST) -> bool:
        """Is this `torch = None` in the `except` after a guarded import?"""
        at = self.parent.get(node)
        while at is not None and not isinstance(at, (*FUNCTIONS, ast.Module)):
            if isinstance(at, ast.ExceptHandler):
                return True
            at = self.parent.get(at)
        return False

    def qualified(self, node: ast.AST) -> str | None:
        """Full dotted name of a name or attribute chain whose first part is an import."""
        attrs: list[str] = []
        while isinstance(node, ast.Attribute):
            attrs.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.known:
            return None
        base = self.resolve(node.id, self.scope[node])
        if base is None:
            return None
        return ".".join([base, *reversed(attrs)])


def _bind_name(index: Index, node: ast.AST, scope: Scope) -> None:
    assert isinstance(node, ast.Name)
    up = index.parent.get(node)
    value = None
    if (isinstance(up, ast.Assign) and len(up.targets) == 1 and up.targets[0] is node) or (
        isinstance(up, (ast.AnnAssign, ast.NamedExpr)) and up.target is node
    ):
        value = up.value
        if isinstance(up, ast.AnnAssign) and value is None:
            return
    if isinstance(value, (ast.Name, ast.Attribute)):
        index.known.add(node.id)
    owner = scope
    if isinstance(up, ast.NamedExpr):
        while isinstance(owner.node, COMPREHENSIONS) and owner.parent is not None:
            owner = owner.parent
    _owner(owner, node.id).bind(node.id, None, value, node)


def _owner(scope: Scope, name: str) -> Scope:
    declared = scope.elsewhere.get(name)
    if declared == "global":
        return scope.module()
    if declared == "nonlocal" and scope.parent is not None:
        return scope.parent
    return scope


def _bind_import(index: Index, node: ast.AST, scope: Scope) -> None:
    assert isinstance(node, ast.Import)
    index.imports.append(node)
    for alias in node.names:
        index.known.add(alias.asname or alias.name.split(".")[0])
        if alias.asname:
            _owner(scope, alias.asname).bind(alias.asname, alias.name, None, node)
        else:
            first = alias.name.split(".")[0]
            _owner(scope, first).bind(first, first, None, node)


def _bind_import_from(index: Index, node: ast.AST, scope: Scope) -> None:
    assert isinstance(node, ast.ImportFrom)
    index.imports.append(node)
    module = "." * node.level + (node.module or "")
    for alias in node.names:
        name = alias.asname or alias.name
        index.known.add(name)
        _owner(scope, name).bind(
            name, f"{module}.{alias.name}" if module.strip(".") else f"{module}{alias.name}", None, node
        )


def _bind_def(index: Index, node: ast.AST, scope: Scope) -> None:
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    if isinstance(node, ast.ClassDef):
        index.classes.append(node)
    _owner(scope, node.name).bind(node.name, None, None, node)


def _bind_handler(index: Index, node: ast.AST, scope: Scope) -> None:
    assert isinstance(node, ast.ExceptHandler)
    if node.name:
        _owner(scope, node.name).bind(node.name, None, None, node)


def _bind_match(index: Index, node: ast.AST, scope: Scope) -> None:
    name = node.rest if isinstance(node, MatchMapping) else getattr(node, "name", None)
    if name:
        _owner(scope, name).bind(name, None, None, node)


def _declare(index: Index, node: ast.AST, scope: Scope) -> None:
    assert isinstance(node, (ast.Global, ast.Nonlocal))
    for name in node.names:
        scope.elsewhere[name] = "global" if isinstance(node, ast.Global) else "nonlocal"


def _bind_arguments(scope: Scope, args: ast.arguments) -> None:
    for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
        if arg is not None:
            scope.bind(arg.arg, None, None, arg)


_BINDERS = {
    ast.Name: _bind_name,
    ast.Import: _bind_import,
    ast.ImportFrom: _bind_import_from,
    ast.FunctionDef: _bind_def,
    ast.AsyncFunctionDef: _bind_def,
    ast.ClassDef: _bind_def,
    ast.ExceptHandler: _bind_handler,
    MatchAs: _bind_match,
    MatchStar: _bind_match,
    MatchMapping: _bind_match,
    ast.Global: _declare,
    ast.Nonlocal: _declare,
}
# Fields that are evaluated inside the new scope; the others (decorators, defaults, bases) belong outside.
_INNER: dict[type[ast.AST], tuple[str, ...]] = {
    ast.FunctionDef: ("body",),
    ast.AsyncFunctionDef: ("body",),
    ast.Lambda: ("body",),
    ast.ClassDef: ("body",),
    **dict.fromkeys(COMPREHENSIONS, ("elt", "key", "value", "generators")),
}
# Fields that hold plain strings and numbers, or operators and contexts nobody asks for.
_NOT_CHILDREN = {"ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment", "module", "level", "is_async"}
_NOT_CHILDREN |= {"name", "asname", "rest", "kwd_attrs", "conversion", "simple"}
_LEAVES = (ast.Constant, MatchSingleton, ast.Global, ast.Nonlocal, ast.alias, ast.TypeIgnore)

# The last field comes first: that is the order in which they go on a stack.
_CHILDREN: dict[type[ast.AST], tuple[str, ...]] = {
    kind: () if issubclass(kind, _LEAVES) else tuple(f for f in reversed(kind._fields) if f not in _NOT_CHILDREN)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
