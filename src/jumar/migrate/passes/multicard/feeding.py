"""Where the batches of a loop come from: the loaders that a program makes, takes from elsewhere, or hands on."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import cached_property

from jumar.migrate.flow import Var, own_nodes
from jumar.migrate.passes.multicard.program import Program
from jumar.migrate.passes.multicard.program_flow import ProgramFlow

LOADERS = frozenset({"torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"})
_LOADER = re.compile(r"loader|_dl$")


class Feeding:
    def __init__(self, program: Program, sharded: bool = False) -> None:
        self.file = program
        self.sharded = sharded

    @cached_property
    def flow(self) -> ProgramFlow:
        return ProgramFlow(self.file)

    def iterated(self, node: ast.expr, seen: frozenset[Var] = frozenset()) -> ast.expr | None:
        """The loader in `loader`, `enumerate(loader, 1)`, `tqdm(loader)`, `zip(loader, …)`, also under another name."""
        if self.loaders_of(node) or self.foreign_of(node):
            return node
        var = self.flow.var(node)
        bounds = self.flow.bounds.get(var, ()) if var is not None else ()
        if var is not None and var not in seen and len(bounds) == 1 and isinstance(bounds[0].value, ast.Call):
            return self.iterated(bounds[0].value, seen | {var})
        if isinstance(node, ast.Call) and not self.flow.callees(node):
            for arg in node.args:
                found = self.iterated(arg, seen)
                if found is not None:
                    return found
            iterable = self.file.keyword(node, "iterable")
            return self.iterated(iterable.value, seen) if iterable is not None else None
        return None

    def loaders_of(self, node: ast.expr) -> list[ast.Call]:
        if self.flow.var(node) is None:
            return [node] if self.is_loader(node) else []  # type: ignore[list-item]
        return [one for one in self._made(node) if not self._is_shared(one)]

    def _made(self, node: ast.expr) -> list[ast.Call]:
        found = dict.fromkeys(self.flow.origins(node))
        return [origin for origin in found if isinstance(origin, ast.Call) and self.is_loader(origin)]

    def _is_shared(self, loader: ast.Call) -> bool:
        """Does one line make several loaders: `get_loader("train")`, `get_loader("test")`?"""
        maker = self.flow.owner(loader)
        if maker is self.file.tree or len(self.flow.callers(maker)) < 2:
            return False
        returned = [origin for value in self.flow.returns.get(maker, ()) for origin in self._parts(value)]
        return loader in returned

    def _parts(self, value: ast.expr) -> list[ast.expr]:
        values = value.elts if isinstance(value, ast.Tuple) else [value]
        return [origin for one in values for origin in self.flow.origins(one)]

    def foreign_of(self, node: ast.expr) -> list[Var]:
        """The variables that take a loader which cannot be split where it is made.

        It comes from a function outside the program (the variable's name must say `loader`), from one that makes
        several loaders, or from a class that is a loader.
        """
        var = self.flow.var(node)
        homes = self._homes(var, frozenset()) if var is not None else []
        found = []
        for home in homes:
            bounds = [bound for bound in self.flow.bounds[home] if not self._goes_round(bound.value)]
            value = bounds[0].value if len(bounds) == 1 else None
            if isinstance(value, (ast.Name, ast.Attribute)) and any(map(self._is_shared, self._made(value))):
                found.append(home)
                continue
            if not isinstance(value, ast.Call):
                return []
            if targets := self.flow.callees(value):
                if self._gives_loader(home, value, targets):
                    found.append(home)
                continue
            name = self.file.name(value.func)
            if isinstance(value.func, ast.Attribute) and name is None and _LOADER.search(home.name.lower()):
                found.append(home)
                continue
            is_function = name is not None and name.rpartition(".")[2][:1].islower()
            if not is_function or str(name).startswith("torch.") or not _LOADER.search(home.name.lower()):
                return []
            found.append(home)
        return found

    def _gives_loader(self, home: Var, value: ast.Call, targets: Sequence[ast.AST]) -> bool:
        """Does a call into the program give a loader that it makes out of sight, or one of several?"""
        classes = [one for one in targets if isinstance(one, ast.ClassDef)]
        if classes:
            return any(map(self._is_loader_class, classes))
        made = self._made(value)
        return any(map(self._is_shared, made)) if made else _LOADER.search(home.name.lower()) is not None

    def _homes(self, var: Var, seen: frozenset[Var]) -> list[Var]:
        """The variables in which a loader is made, followed back through parameters and plain assignments."""
        if var in seen:
            return []
        bounds = self.flow.bounds.get(var, [])
        if not bounds and self.flow.parameter(var) is None:
            return []
        given = [bound.value for bound in bounds if not self._goes_round(bound.value)]
        if self.flow.parameter(var) is not None:
            given += self.flow.arguments(var)
        sources = [self.flow.var(value) if value is not None else None for value in given]
        if not sources or None in sources:
            return [var] if bounds else []
        before = [self._homes(one, seen | {var}) for one in sources if one is not None]
        return [home for homes in before for home in homes] if all(before) or not bounds else [var]

    def _goes_round(self, value: ast.expr | None) -> bool:
        """Is this a generator of the program's own around a loader: `endless(loader)`?"""
        targets = self.flow.callees(value) if isinstance(value, ast.Call) else []
        return any(isinstance(one, (ast.Yield, ast.YieldFrom)) for target in targets for one in own_nodes(target))

    def _is_loader_class(self, node: ast.ClassDef) -> bool:
        bases = [base for one in self.flow.family(node) for base in one.bases]
        return any(self.file.name(base) in LOADERS for base in bases)

    def is_loader(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and self.file.name(node.func) in LOADERS
