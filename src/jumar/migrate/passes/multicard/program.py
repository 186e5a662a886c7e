"""A training program of one or more files, read as if it were one.

`train.py` hands its model to `evaluate` of `evaluate.py`, or to a `Trainer` of `trainer.py`. Analysis of the script
must follow it there, so this has the reading half of `PyFile` for the nodes of all files; `program_flow` follows values
through it.
"""

from __future__ import annotations

import ast
import dataclasses
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from jumar.core.source import Source, UnreadableError
from jumar.migrate.flow import Var
from jumar.migrate.look import Text
from jumar.migrate.names import Binding, Scope
from jumar.migrate.pyfile import UNPARSABLE, PyFile, parse
from jumar.migrate.settings import Facts, Settings

MAX_FILES = 80
"""A program of more files is not followed beyond its first one."""

DISTRIBUTED = (b"init_process_group", b"DistributedDataParallel")
"""Words of programs that run on several cards already; they need not be followed."""


def prepare(facts: Facts, texts: Sequence[Text]) -> Facts:
    """The programs that train: each main file with the files of the project that it imports."""
    known = {text.path: text.raw for text in texts if text.path.endswith(".py")}
    imports = {path: _imports(path, raw, known) for path, raw in known.items()}
    imported = {other for path, others in imports.items() for other in others if other != path}
    programs, distributed = [], set()
    for path, raw in sorted(known.items()):
        if path in imported and b"__main__" not in raw:
            continue
        members = _closure(path, imports)
        if any(word in known[one] for one in members for word in DISTRIBUTED):
            distributed.update(members)
        elif len(members) <= MAX_FILES and any(b"backward" in known[one] for one in members):
            programs.append(tuple((one, known[one].decode("latin-1")) for one in members))
    own = {path for texts in programs for path, _ in texts}
    return dataclasses.replace(facts, programs=tuple(programs), distributed=frozenset(distributed - own))


def _closure(path: str, imports: dict[str, tuple[str, ...]]) -> list[str]:
    found = [path]
    for one in found:
        found += [other for other in imports[one] if other not in found]
    return found


def _imports(path: str, raw: bytes, known: dict[str, bytes]) -> tuple[str, ...]:
    try:
        tree = parse(Source.from_bytes(path, raw, python=True).data, path)
    except (UnreadableError, *UNPARSABLE):
        return ()
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        for name in _names(node):
            at = module_of(name, path, known)
            if at is not None:
                found.setdefault(at[0])
    return tuple(found)


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        head = "." * node.level + (node.module or "")
        return [f"{head}.{alias.name}" if node.module else f"{head}{alias.name}" for alias in node.names]
    return []


def module_of(name: str, path: str, known: Iterable[str]) -> tuple[str, list[str]] | None:
    """The file that a dotted name of `path` leads to, and what of the name is left for things inside that file."""
    folder = posixpath.dirname(path)
    level = len(name) - len(name.lstrip("."))
    parts = name.lstrip(".").split(".")
    if level:
        roots = [posixpath.normpath(posixpath.join(folder or ".", *[".."] * (level - 1)))]
    else:
        roots = [folder]
        while roots[-1]:
            roots.append(posixpath.dirname(roots[-1]) if posixpath.dirname(roots[-1]) != roots[-1] else "")
    for root in roots:
        for count in range(len(parts), -1 if level else 0, -1):
            base = posixpath.normpath(posixpath.join(root or ".", *parts[:count]))
            for file in (f"{base}.py", posixpath.normpath(f"{base}/__init__.py")):
                if file in known and (count or level):
                    return file, parts[count:]
    return None


def read(texts: Sequence[tuple[str, str]], settings: Settings) -> Program | None:
    """The program of some texts; None when its main file is not Python, other such files are left out."""
    files = [_parsed(path, text.encode("latin-1"), settings) for path, text in texts]
    return Program([file for file in files if file is not None]) if files[0] is not None else None


def _parsed(path: str, raw: bytes, settings: Settings) -> PyFile | None:
    try:
        source = Source.from_bytes(path, raw, python=True)
        return PyFile(source, settings, parse(source.data, path), frozenset())
    except (UnreadableError, *UNPARSABLE):
        return None


class ProgramIndex:
    """What the indexes of all files know together."""

    def __init__(self, files: Sequence[PyFile]) -> None:
        self.parent: dict[ast.AST, ast.AST] = {}
        self.scope: dict[ast.AST, Scope] = {}
        self.module = files[0].index.module
        self.nodes: dict[type[ast.AST], list[ast.AST]] = {}
        for file in files:
            self.parent.update(file.index.parent)
            self.scope.update(file.index.scope)
            for kind, nodes in file.index.nodes.items():
                self.nodes.setdefault(kind, []).extend(nodes)


class Program:
    """The reading half of `PyFile` for several files; the first one is the main program."""

    def __init__(self, files: Sequence[PyFile]) -> None:
        self.files = {file.source.path: file for file in files}
        self.main = files[0]
        self.tree = self.main.tree
        self.trees = {file.tree: file for file in files}
        self.settings = self.main.settings

    @cached_property
    def index(self) -> ProgramIndex:
        return ProgramIndex(list(self.files.values()))

    @cached_property
    def lost(self) -> set[ast.AST]:
        return {node for file in self.files.values() for node in file.lost}

    @cached_property
    def docstrings(self) -> set[ast.AST]:
        return {node for file in self.files.values() for node in file.docstrings}

    def file_of(self, node: ast.AST) -> PyFile:
        """The file that a node stands in."""
        at: ast.AST = node
        while at in self.index.parent:
            at = self.index.parent[at]
        assert isinstance(at, ast.Module)
        return self.trees[at]

    def walk(self) -> Iterator[ast.AST]:
        for tree in self.trees:
            yield from ast.walk(tree)

    def text(self, node: ast.expr | ast.stmt | ast.keyword) -> str:
        return self.file_of(node).text(node)

    def name(self, node: ast.AST) -> str | None:
        return self.file_of(node).name(node)

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self.index.parent.get(node)

    def ancestors(self, node: ast.AST) -> list[ast.AST]:
        return self.file_of(node).ancestors(node)

    def statement(self, node: ast.AST) -> ast.stmt:
        return self.file_of(node).statement(node)

    def keyword(self, call: ast.Call, name: str) -> ast.keyword | None:
        return self.main.keyword(call, name)

    def argument(self, call: ast.Call, position: int, name: str) -> ast.expr | None:
        return self.main.argument(call, position, name)

    def definition(self, name: str, path: str, seen: frozenset[tuple[str, str]] = frozenset()) -> list[ast.AST]:
        """The functions and classes of the program that a full dotted name means in a file, through re-exports."""
        found = module_of(name, path, self.files) if (name, path) not in seen else None
        if found is None or len(found[1]) != 1:
            return []
        file, (word,) = self.files[found[0]], found[1]
        nodes: list[ast.AST] = []
        bindings = file.index.module.bindings.get(word)
        if bindings is None:
            stars = [one.target or "" for one in file.index.module.bindings.get("*", ())]
            brought = (self.definition(f"{one[:-1]}{word}", file.source.path, seen | {(name, path)}) for one in stars)
            return next((found for found in brought if found), [])
        for binding in bindings:
            if isinstance(binding.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                nodes.append(binding.node)
            elif binding.target is not None:
                nodes += self.definition(binding.target, file.source.path, seen | {(name, path)})
        return nodes

    def variable(self, binding: Binding, path: str) -> Var | None:
        """The variable of another file that an import brings: `from config import device`."""
        found = module_of(binding.target, path, self.files) if binding.target else None
        if found is None or len(found[1]) != 1 or found[1][0] not in self.files[found[0]].index.module.bindings:
            return None
        return Var(self.files[found[0]].tree, found[1][0])
