"""What all files of a program say together: functions that take paths, and what each option is used for.

An option is defined in one file and used in another; a path is chosen in one and written in another. A few rounds over
the files find functions that hand a path on to functions that write it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from jumar.core.source import Source
from jumar.migrate.flow import Var
from jumar.migrate.passes.cloud import helper, holders, paths
from jumar.migrate.passes.cloud.paths import Paths
from jumar.migrate.passes.cloud.uses import MAYBE, Use
from jumar.migrate.pyfile import PyFile
from jumar.migrate.settings import Cloud, Place, Settings
from jumar.tables.load import table

ROUNDS = 4
"""Hands through which a path goes at most."""
_HOLDER = re.compile(r"arg|opt|conf|cfg|param|flag|setting")
_START = re.compile(r"ckpt|checkpoint|pre_?train|resume|weight|backbone")
"""Names of what is read to begin from, where the program reads it with a function of its own."""
_RESULT = re.compile(r"ckpt|checkpoint|model|save|out|log|result|exp")
Places = dict[str, tuple[Place, ...]]


class Text(NamedTuple):
    """A file of the program that could be parsed."""

    source: Source
    tree: ast.Module


def known(cloud: Cloud, texts: Iterable[Text]) -> Cloud:
    """The same, with what the whole program says about its functions and options."""
    every = list(texts)
    single = _single(every)
    for _ in range(ROUNDS):
        found = [paths.of(PyFile(text.source, Settings(cloud=cloud), text.tree, frozenset())) for text in every]
        before = cloud.writers, cloud.readers
        cloud = replace(
            cloud,
            writers=_takers(found, single, "writes"),
            readers=_takers(found, single, "reads"),
            evidence=evidence(found),
        )
        if before == (cloud.writers, cloud.readers):
            break
    return cloud


def _single(texts: list[Text]) -> frozenset[str]:
    """Names that the program gives to one function or class only, so that a call by name means it."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = Counter(node.name for text in texts for node in ast.walk(text.tree) if isinstance(node, kinds))
    return frozenset(name for name, count in names.items() if count == 1) | {"__init__"}


def _takers(found: list[Paths], single: frozenset[str], what: str) -> Places:
    takers: dict[str, set[Place]] = {}
    for one in found:
        uses: list[Use] = getattr(one, what)
        for use in uses:
            for var in one.parameters(use.path) if not use.what.startswith(MAYBE) else ():
                for name, place in _place(one, var):
                    if name in single:
                        takers.setdefault(name, set()).add(place)
    return {name: tuple(sorted(places)) for name, places in takers.items()}


def _place(found: Paths, var: Var) -> Iterator[tuple[str, Place]]:
    function = var.owner
    assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
    names = [arg.arg for arg in [*function.args.posonlyargs, *function.args.args]]
    up = found.file.parent(function)
    is_method = isinstance(up, ast.ClassDef) and bool(names)
    names = names[1:] if is_method else names
    name = up.name if isinstance(up, ast.ClassDef) and function.name == "__init__" else function.name
    yield name, Place(names.index(var.name) if var.name in names else 99, var.name)


def evidence(found: list[Paths]) -> dict[str, frozenset[str]]:
    """What these files do with each option."""
    said: dict[str, set[str]] = {}
    for one in found:
        told = [*((word, "word") for word in _words(one)), *((name, "fixed") for name in _fixed(one))]
        for name, kind in [*_used(one), *told]:
            said.setdefault(name, set()).add(kind)
    for name, source in [pair for one in found for pair in one.handed] * ROUNDS:
        said.setdefault(source, set()).update(said.get(name, set()) & {"results", "data", "start", "option"})
    return {name: frozenset(kinds) for name, kinds in said.items()}


def _used(found: Paths) -> Iterator[tuple[str, str]]:
    states = {row.rpartition(".")[2] for row in table("cloud_paths.toml")["reads_start"]}
    told = [(use, "start" if use.what in states else "data") for use in found.reads if use.what != "open"]
    told += [(use, "results") for use in found.writes if not use.what.startswith(MAYBE)]
    for use, kind in told:
        for root in found.roots(use.path):
            if root.kind == "option":
                yield root.name, "start" if kind == "data" and _START.search(root.name.lower()) else kind
                if _is_held(found, getattr(root.node, "value", root.node)):
                    yield root.name, "option"
    for use in found.folders:
        for root in found.roots(use.path):
            if root.kind == "option" and _RESULT.search(root.name.lower()):
                yield root.name, "results"


def _is_held(found: Paths, holder: ast.expr) -> bool:
    """Do settings lie in this object: by its name, or because another module of the program made it?"""
    return _HOLDER.search(found.file.text(holder).lower()) is not None or found.is_own(holder)


def _fixed(found: Paths) -> Iterator[str]:
    """Names under which the program keeps a path of its own, in a field or a dictionary."""
    for node in found.flow.nodes:
        for name, value in holders.pairs(found.file, node):
            is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
            if is_text or helper.is_call(found.file, value, "write_path"):
                yield name


def _words(found: Paths) -> Iterator[str]:
    """Options that are compared with words, looked up by, or name a class: `args.dataset == "cifar10"`."""
    for node in found.flow.nodes:
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(_is_word(side) for side in sides):
                yield from (side.attr for side in sides if isinstance(side, ast.Attribute))
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Attribute):
            yield node.slice.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "eval"):
            yield from (arg.attr for arg in node.args[-1:] if isinstance(arg, ast.Attribute))


def _is_word(node: ast.expr) -> bool:
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return any(_is_word(part) for part in node.elts)
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_text and node.value.isidentifier() and node.value not in ("None", "none")  # type: ignore[attr-defined]
