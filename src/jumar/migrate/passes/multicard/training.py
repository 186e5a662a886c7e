"""How a script trains: its training steps, the loops around them, and the loaders that feed those."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import NamedTuple

from jumar.migrate.flow import Var, own_nodes
from jumar.migrate.passes.multicard.feeding import Feeding
from jumar.tables.load import table


class Loop(NamedTuple):
    """A loop over batches that trains: the loop, what it runs over, and the loader calls that made that.

    A loader that a function of another file made is known by the variables that take it (`foreign`).
    """

    node: ast.For | ast.While
    iterated: ast.expr
    loaders: tuple[ast.Call, ...]
    foreign: tuple[Var, ...]


class Epochs(NamedTuple):
    """An epoch loop and the spelling of the training loader inside it, if it can be reached there."""

    node: ast.For
    loader: str | None


class Training(Feeding):
    @cached_property
    def reached(self) -> set[ast.AST]:
        """The functions that the main program can come to; all of its own count."""
        found: set[ast.AST] = set(self.file.trees)
        todo: list[ast.AST] = [self.file.tree]
        while todo:
            for node in ast.walk(todo.pop()):
                targets = self.flow.callees(node) if isinstance(node, ast.Call) else ()
                named = self.flow.named(node) if isinstance(node, ast.Name) else ()
                for target in (*targets, *named):
                    if target not in found:
                        found.add(target)
                        todo.append(target)
        return found

    def is_reached(self, node: ast.AST) -> bool:
        """Does the main program come to this place?"""
        if self.file.file_of(node) is self.file.main:
            return True
        around = [up for up in self.file.ancestors(node) if isinstance(up, (ast.FunctionDef, ast.ClassDef))]
        return not around or any(up in self.reached for up in around)

    @cached_property
    def backwards(self) -> list[ast.Call]:
        """The `.backward()` calls, in order; none when no parameters are updated."""
        if not any(b"backward" in file.source.data for file in self.file.files.values()):
            return []
        found = [
            call
            for call in self.flow.calls
            if isinstance(call.func, ast.Attribute) and call.func.attr == "backward" and self.is_reached(call)
        ]
        steps = {call.func.attr for call in self.flow.calls if isinstance(call.func, ast.Attribute)}
        return sorted(found, key=lambda call: call.lineno) if steps & {"step", "zero_grad"} else []

    @cached_property
    def trainers(self) -> set[ast.AST]:
        """The functions that train, directly or through others."""
        found = {self.flow.owner(call) for call in self.backwards}
        found.discard(self.file.tree)
        todo = list(found)
        while todo:
            for call in self.flow.callers(todo.pop()):
                owner = self.flow.owner(call)
                if owner not in found and owner is not self.file.tree:
                    found.add(owner)
                    todo.append(owner)
        return found

    def training_line(self, owner: ast.AST) -> int:
        """The first line of a function (or of the module) that leads to training."""
        lines = [
            node.lineno
            for node in own_nodes(owner)
            if isinstance(node, ast.Call)
            and (
                (isinstance(node.func, ast.Attribute) and node.func.attr == "backward")
                or any(target in self.trainers for target in self.flow.callees(node))
            )
        ]
        return min(lines, default=1 << 30)

    @cached_property
    def loops(self) -> list[Loop]:
        """The innermost loops over a loader that lead to `.backward()`."""
        found: dict[ast.AST, Loop] = {}
        for call in self.backwards:
            for loop in self._climb(call, frozenset()):
                found.setdefault(loop.node, loop)
        return sorted(found.values(), key=lambda loop: loop.node.lineno)

    def _climb(self, node: ast.AST, seen: frozenset[ast.AST]) -> list[Loop]:
        for up in self.file.ancestors(node):
            if isinstance(up, (ast.For, ast.While)):
                iterated = self.iterated(up.iter) if isinstance(up, ast.For) else None
                iterated = iterated if iterated is not None else self._drawn(up)
                if iterated is not None:
                    return [Loop(up, iterated, tuple(self.loaders_of(iterated)), tuple(self.foreign_of(iterated)))]
            if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if up in seen:
                    return []
                return [loop for call in self.flow.callers(up) for loop in self._climb(call, seen | {up})]
        return []

    def _drawn(self, loop: ast.For | ast.While) -> ast.expr | None:
        """The loader of a loop that takes its batches with `next(iter(loader))`."""
        for node in own_nodes(loop):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "next" and node.args:
                for origin in self.flow.origins(node.args[0]):
                    is_iter = isinstance(origin, ast.Call) and isinstance(origin.func, ast.Name)
                    if is_iter and origin.func.id == "iter" and origin.args:  # type: ignore[attr-defined]
                        found = self.iterated(origin.args[0])  # type: ignore[attr-defined]
                        if found is not None:
                            return found
        return None

    @cached_property
    def training_loaders(self) -> list[ast.Call]:
        """The calls that make the training loaders."""
        found = dict.fromkeys(loader for loop in self.loops for loader in self.choose(loop))
        return list(found)

    @cached_property
    def foreign_loaders(self) -> list[Var]:
        """The variables that hold training loaders from other files."""
        return list(dict.fromkeys(home for loop in self.loops if len(loop.foreign) == 1 for home in loop.foreign))

    def is_split(self, iterated: ast.expr) -> bool | None:
        """Does a loop run over split training data? None: over that and other data."""
        here: set[ast.Call | Var] = {*self.loaders_of(iterated), *self.foreign_of(iterated)}
        split = here & {*self.training_loaders, *self.foreign_loaders}
        return None if split and split != here else bool(split)

    def choose(self, loop: Loop) -> list[ast.Call]:
        """Of several loaders that reach one loop, those that hold training data."""
        if len(loop.loaders) < 2:
            return list(loop.loaders)
        verdicts = {loader: self._kind(loader) for loader in loop.loaders}
        if set(verdicts.values()) <= {"train"}:
            return list(loop.loaders)
        if "" in verdicts.values() or "train" not in verdicts.values():
            return []
        return [loader for loader, kind in verdicts.items() if kind == "train"]

    def _kind(self, loader: ast.Call) -> str:
        """`train` or `test` by the words around a loader call, or nothing."""
        statement = self.file.statement(loader)
        words = self.file.text(loader).lower()
        if isinstance(statement, ast.Assign):
            words += " " + " ".join(self.file.text(target) for target in statement.targets).lower()
        is_test = any(word in words for word in ("test", "val", "eval", "dev_"))
        is_train = "train" in words and "train=false" not in words.replace(" ", "")
        if "train=false" in words.replace(" ", ""):
            is_test = True
        return "" if is_test == is_train else "train" if is_train else "test"

    @cached_property
    def epochs(self) -> list[Epochs]:
        """The loops around the training loops."""
        found: dict[ast.AST, Epochs] = {}
        for loop in self.loops:
            for epochs in self._around(loop.node, loop.iterated, frozenset()):
                found.setdefault(epochs.node, epochs)
        return sorted(found.values(), key=lambda epochs: epochs.node.lineno)

    def _around(self, node: ast.AST, loader: ast.expr | None, seen: frozenset[ast.AST]) -> list[Epochs]:
        for up in self.file.ancestors(node):
            if isinstance(up, ast.For):
                return [Epochs(up, self.file.text(loader) if loader is not None else None)]
            if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if up in seen:
                    return []
                return [
                    epochs
                    for call in self.flow.callers(up)
                    for epochs in self._around(call, self._outside(loader, up, call), seen | {up})
                ]
        return []

    def _outside(self, loader: ast.expr | None, function: ast.AST, call: ast.Call) -> ast.expr | None:
        """The spelling of a function's loader at one of its calls."""
        var = self.flow.var(loader) if loader is not None else None
        if loader is None or var is None:
            return None
        if var.owner is function:
            if self.flow.parameter(var) is None:
                return None
            given = [arg for arg in self.flow.arguments(var) if self.file.ancestors(arg)[0] in (call, *call.keywords)]
            return given[0] if given and self.flow.var(given[0]) is not None else None
        if isinstance(var.owner, ast.ClassDef):
            if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
                same = self.flow.method_of_self(call.func.value) is var.owner
                return loader if same else None
            return None
        return loader

    def calls_named(self, rows: str) -> list[tuple[ast.Call, str]]:
        """The calls whose full name is in a section of the table."""
        known = table("multicard.toml")[rows]
        named = [(call, self.file.name(call.func)) for call in self.flow.calls if self.is_reached(call)]
        return [(call, name) for call, name in named if name is not None and name in known]

    def is_first_only(self, node: ast.AST) -> bool:
        """Does the code stand under a test of the rank already?"""
        return any(
            isinstance(up, (ast.If, ast.IfExp)) and "rank" in self.file.text(up.test).lower()
            for up in self.file.ancestors(node)
        )
