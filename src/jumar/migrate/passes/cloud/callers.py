"""Who calls a function, over all files of a program: what makes the training data is called for it alone."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator

OTHER = re.compile(r"(?:^|_|/)(?:eval|test|val|valid|validation|infer|inference|predict|dev)(?:$|_|/|\d)", re.I)
"""Names of data that is not trained on."""


def calls(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Every call by its last name, and whether names around it speak of other data than that of the training."""
    for statement in ast.walk(tree):
        if not isinstance(statement, ast.stmt):
            continue
        about = [str(getattr(target, "id", "")) for target in getattr(statement, "targets", ())]
        for call in _own(statement):
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            yield name, any(OTHER.search(word) for word in [*about, *texts(call)])


def once(found: Iterable[tuple[str, bool]]) -> frozenset[str]:
    """The functions that are called in one place, which speaks of no other data."""
    every = list(found)
    counts = Counter(name for name, _ in every)
    return frozenset(name for name, is_other in every if counts[name] == 1 and not is_other)


def texts(call: ast.Call) -> Iterator[str]:
    for node in ast.walk(call):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _own(statement: ast.stmt) -> Iterator[ast.Call]:
    """The calls in a statement, without those in statements inside it."""
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Call):
            yield node
        todo += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]
