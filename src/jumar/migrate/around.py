"""What stands around a finding: by it a rule judges whether the finding tells anybody anything."""

from __future__ import annotations

import ast
import re
from functools import cached_property

from jumar.core.finding import Where
from jumar.migrate.names import Index

Chain = tuple[ast.AST, ...]
"""A node and what it is in, the innermost first."""
_DEPTH = 4
"""So many nodes of a chain are enough."""
_SENTENCE = 5
"""A text of so many words is for people."""
_CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
EXPORTED = "a name that the module exports; its definition is what counts"
SENTENCE = "a sentence for people"


class Surroundings:
    """A file as the user wrote it, with the syntax that the engine has of it; other languages than Python have none."""

    def __init__(self, path: str, raw: bytes, index: Index | None) -> None:
        self.path = path
        self._raw = raw
        self._index = index

    @cached_property
    def lines(self) -> list[str]:
        return self._raw.decode("utf-8", "replace").splitlines()

    def chains(self, line: int) -> list[Chain]:
        """Attributes and constants on a line, each with the nodes around it."""
        return [self._chain(node) for node in self._nodes.get(line, ())]

    @cached_property
    def _nodes(self) -> dict[int, list[ast.AST]]:
        nodes: dict[int, list[ast.AST]] = {}
        for kind in (ast.Attribute, ast.Constant):
            for node in self._index.nodes[kind] if self._index is not None else ():
                nodes.setdefault(node.lineno, []).append(node)  # type: ignore[attr-defined]
        return nodes

    def _chain(self, node: ast.AST) -> Chain:
        parents = self._index.parent if self._index is not None else {}
        chain = [node]
        while len(chain) < _DEPTH and chain[-1] in parents:
            chain.append(parents[chain[-1]])
        return tuple(chain)


class Place:
    """Where one finding stands."""

    def __init__(self, file: Surroundings, where: Where) -> None:
        self._file = file
        self._where = where

    @property
    def path(self) -> str:
        return self._file.path

    @property
    def line(self) -> str:
        lines, number = self._file.lines, self._where.line
        return lines[number - 1] if 0 < number <= len(lines) else ""

    @property
    def chains(self) -> list[Chain]:
        return self._file.chains(self._where.line)

    @property
    def string(self) -> Chain:
        """The string at the place itself; nodes that are nothing where there is none."""
        at = (
            chain
            for chain in self.chains
            if isinstance(chain[0], ast.Constant) and chain[0].col_offset + 1 == self._where.col
        )
        return next(at, (ast.Pass(), ast.Pass()))


def is_export(chain: Chain) -> bool:
    """Is it an entry of `__all__`?"""
    return any(
        isinstance(outer, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "__all__" for target in outer.targets)
        for outer in chain
    )


def is_sentence(text: str) -> bool:
    return len(text.split()) >= _SENTENCE or len(_CJK.findall(text)) >= _SENTENCE


def about_option(place: Place) -> str:
    """`if optimizer in ("adamw_8bit", …)`, `kind == "xformers"`: the place that chooses it counts."""
    chain = place.string
    outer = chain[2] if isinstance(chain[1], (ast.List, ast.Tuple, ast.Set)) else chain[1]
    return "a question about a choice, not the choice" if isinstance(outer, ast.Compare) else ""
