"""Where values go in a program of several files: into functions, classes and base classes of its other files too."""

from __future__ import annotations

import ast

from jumar.migrate.flow import Flow, Function, Var
from jumar.migrate.passes.multicard.program import Program


class ProgramFlow(Flow):
    file: Program  # type: ignore[assignment]

    def __init__(self, program: Program) -> None:
        self._families: dict[ast.ClassDef, list[ast.ClassDef]] = {}
        self._of_objects: dict[ast.AST, Var] = {}
        self._classes: dict[Var, ast.ClassDef | None] = {}
        self._followed: dict[Var, ast.ClassDef | None] = {}
        """Those of one question, which meets many variables again and may lead back to itself."""
        self._is_built = False
        self.sites: dict[ast.AST, list[ast.Call]] = {}
        super().__init__(program)  # type: ignore[arg-type]
        for node in self.nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and self.var(node) is None:
                made = self._class_of(node.value)
                if made is not None and not _has_method(made, node.attr):
                    self._of_objects[node] = Var(self._families[made][0], f"self.{node.attr}")
                    self.uses.setdefault(self._of_objects[node], []).append(node)
        self._is_built = True

    def every_node(self) -> list[ast.AST]:
        nodes = list(self.file.walk())
        classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
        for one in classes:
            self._families[one] = [one]
        for one in classes:
            for base in one.bases:
                for other in self._defined(base):
                    if isinstance(other, ast.ClassDef) and other is not one:
                        self._join(one, other)
        return nodes

    def _join(self, one: ast.ClassDef, other: ast.ClassDef) -> None:
        """A class and its base are one family: they share `self`."""
        together = list(dict.fromkeys([*self._families[other], *self._families[one]]))
        for member in together:
            self._families[member] = together

    def family(self, node: ast.ClassDef) -> list[ast.ClassDef]:
        """A class with those of its bases and heirs that the program defines."""
        return self._families[node]

    def _defined(self, node: ast.expr) -> list[ast.AST]:
        """The functions and classes that a name or `module.name` means."""
        if isinstance(node, ast.Name):
            scope = self.file.index.scope.get(node)
            found = scope.lookup(node.id) if scope is not None else None
            nodes: list[ast.AST] = []
            for binding in found[1] if found is not None else ():
                if isinstance(binding.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    nodes.append(binding.node)
                elif binding.target is not None:
                    nodes += self.file.definition(binding.target, self.file.file_of(node).source.path)
            return nodes
        name = self.file.name(node) if isinstance(node, ast.Attribute) else None
        return self.file.definition(name, self.file.file_of(node).source.path) if name is not None else []

    def named(self, node: ast.Name) -> list[ast.AST]:
        """The functions and classes that a bare name stands for, such as a callback that is passed on."""
        return self._defined(node) if isinstance(node.ctx, ast.Load) else []

    def var(self, node: ast.AST) -> Var | None:
        if node in self._of_objects:
            return self._of_objects[node]
        found = super().var(node)
        if found is None:
            return None
        if isinstance(found.owner, ast.ClassDef) and isinstance(node, ast.Attribute):
            return Var(self._families[found.owner][0], found.name)
        if isinstance(found.owner, ast.Module) and isinstance(node, ast.Name):
            scope = self.file.index.scope[node].lookup(node.id)
            assert scope is not None
            path = self.file.file_of(node).source.path
            brought = [self.file.variable(binding, path) for binding in scope[1]]
            return next((var for var in brought if var is not None), found)
        return found

    def callees(self, call: ast.Call) -> list[Function | ast.ClassDef]:
        func = call.func
        found = [node for node in self._defined(func) if isinstance(node, _DEFINITIONS)]
        if found or not isinstance(func, ast.Attribute):
            return found
        owner: ast.ClassDef | None = None
        own: ast.ClassDef | None = None
        if isinstance(func.value, ast.Name):
            owner = self.method_of_self(func.value) or self._class_of(func.value)
        elif isinstance(func.value, ast.Attribute):
            owner = self._class_of(func.value)
        elif _is_super(func.value):
            own = owner = self._class_around(call)
        if owner is None:
            return []
        return [
            node
            for one in self._families[owner]
            if one is not own
            for node in one.body
            if isinstance(node, ast.FunctionDef) and node.name == func.attr and not _is_abstract(node)
        ]

    def _class_around(self, node: ast.AST) -> ast.ClassDef | None:
        return next((up for up in self.file.ancestors(node) if isinstance(up, ast.ClassDef)), None)

    def _class_of(self, node: ast.expr) -> ast.ClassDef | None:
        """The class that a variable is an instance of, followed back to where its object is made."""
        var = self.var(node)
        if var is None:
            return None
        for known in (self._classes, self._followed):
            if var in known:
                return known[var]
        is_first = not self._followed
        self._followed[var] = None
        made = self._followed[var] = self._made_by(node)
        if is_first:
            self._followed.clear()
            if self._is_built:
                self._classes[var] = made
        return made

    def _made_by(self, node: ast.expr) -> ast.ClassDef | None:
        targets = (self._defined(one.func) for one in self.origins(node) if isinstance(one, ast.Call))
        return next((target for found in targets for target in found if isinstance(target, ast.ClassDef)), None)


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _has_method(made: ast.ClassDef, name: str) -> bool:
    return any(isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) and one.name == name for one in made.body)


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _is_abstract(function: ast.FunctionDef) -> bool:
    """Is there nothing but a docstring and `raise NotImplementedError` or `pass`?"""
    rest = [one for one in function.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    return all(isinstance(one, (ast.Raise, ast.Pass)) for one in rest)
