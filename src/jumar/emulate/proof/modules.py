"""The modules of a project: how each is named when it is imported, and from which folder."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

BUILD = {"setup.py", "noxfile.py", "fabfile.py", "tasks.py", "conftest.py", "__main__.py"}
"""Files that another program calls with names of its own; importing them says nothing."""
_PREPARING = ("logging.", "warnings.", "os.environ", "sys.path", "matplotlib.", "torch.set_", "torch.manual_seed",
              "random.seed", "np.random.seed", "numpy.random.seed", "sys.setrecursionlimit")  # fmt: skip
"""Calls at the top of a module that only prepare something."""


class Module(NamedTuple):
    path: str
    """From the top of the project."""
    name: str
    root: str
    """The folder that must be on `sys.path`, from the top of the project; empty for the top itself."""
    acts: bool
    """Does the file start work when it is imported, without a guard? Then it has a process of its own."""


def find(top: Path, skipped: Iterable[str] = ()) -> list[Module]:
    """Every Python file below `top` that can be imported, packages before what is in them."""
    return sorted(_below(top, set(skipped)), key=lambda one: (one.root, one.acts, one.name))


def left_out(top: Path, skipped: Iterable[str] = ()) -> list[str]:
    """Python files that are not modules: names that cannot be imported, and build scripts."""
    found = {one.path for one in find(top, skipped)}
    return sorted(path for path in _files(top, set(skipped)) if path not in found)


def packages(top: Path, found: Iterable[Module]) -> list[str]:
    """The modules outside the project that its files import at their top, in the order of first use."""
    units = list(found)
    own = {one.name.partition(".")[0] for one in units}
    names = (name for one in units for name in _imports(top / one.path) if name.partition(".")[0] not in own)
    return list(dict.fromkeys(names))


def _imports(path: Path) -> Iterator[str]:
    for node in _body(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def _files(top: Path, skipped: set[str]) -> Iterator[str]:
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in skipped and not name.startswith("."))
        yield from (Path(folder, name).relative_to(top).as_posix() for name in sorted(names) if name.endswith(".py"))


def _below(top: Path, skipped: set[str]) -> Iterator[Module]:
    for path in _files(top, skipped):
        module = _module(top, Path(path))
        if module is not None:
            yield module


def _module(top: Path, path: Path) -> Module | None:
    if path.name in BUILD or (path.name == "conf.py" and path.parent.name in ("docs", "doc", "source")):
        return None
    parts = [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    while folder != Path() and (top / folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    if not parts or not all(part.isidentifier() for part in parts):
        return None
    root = "" if folder == Path() else folder.as_posix()
    return Module(path.as_posix(), ".".join(parts), root, _acts(top / path))


def _acts(path: Path) -> bool:
    return any(_is_work(node) for node in _body(path))


def _body(path: Path) -> list[ast.stmt]:
    try:
        return ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError, OSError, RecursionError, MemoryError):
        return []


def _is_work(node: ast.stmt) -> bool:
    """Is this a statement of a script: a call for its effect, a loop, a `with`, parsed arguments?"""
    if isinstance(node, ast.Expr):
        if not isinstance(node.value, (ast.Call, ast.Await)):
            return False
        return not ast.unparse(node.value).startswith(_PREPARING) and not _is_registration(node.value)
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        return any(
            isinstance(inner, ast.Call)
            and isinstance(inner.func, ast.Attribute)
            and inner.func.attr in ("parse_args", "parse_known_args")
            for inner in ast.walk(node.value)
        )
    if isinstance(node, ast.If):
        if "__name__" in ast.unparse(node.test):
            return False
        return any(_is_work(inner) for inner in [*node.body, *node.orelse])
    if isinstance(node, ast.Try):
        return any(_is_work(inner) for inner in [*node.body, *node.orelse, *node.finalbody])
    return isinstance(node, (ast.For, ast.While, ast.With))


def _is_registration(call: ast.expr) -> bool:
    """`registry.register(...)`, `lib.define(...)`, `list.append(...)`: what a library does at its import."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    name = call.func.attr.lower()
    return name.startswith(("register", "add_", "append", "update", "extend", "insert", "define", "setdefault", "set"))
