"""A parsed Python file as the Python rules see it."""

from __future__ import annotations

import ast
import warnings
from functools import cached_property
from typing import Any

from jumar.core.compat import place_imported_names
from jumar.core.edit import Edit
from jumar.core.source import Source
from jumar.migrate import literals, suppress
from jumar.migrate.document import Document, Span
from jumar.migrate.names import Index
from jumar.migrate.settings import Settings

BASE_TYPES: frozenset[type[ast.AST]] = frozenset({ast.Attribute, ast.Name, ast.JoinedStr, ast.Constant, ast.Expr})

UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What `parse` raises when a text is not Python."""


def parse(data: bytes, path: str) -> ast.Module:
    """The tree of a UTF-8 text; a coding line in it speaks of the file, not of this text, and must not be followed."""
    text = data.decode() if b"coding" in data[:400] else data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text, path)
    place_imported_names(tree, data)
    return tree


class PyFile(Document):
    def __init__(self, source: Source, settings: Settings, tree: ast.Module, wanted: frozenset[type[ast.AST]]) -> None:
        super().__init__(source, settings)
        self.tree = tree
        self.index = Index(tree, wanted | BASE_TYPES)
        strings = [node for node in self.index.nodes[ast.JoinedStr] if isinstance(node, ast.JoinedStr)]
        self.lost: set[ast.AST] = literals.relocate(source, strings) if literals.NEEDS_RELOCATION else set()
        """Nodes whose place in the source is not known: never edited, only reported."""
        self.notes: dict[str, Any] = {}
        """What a pass has worked out about the file once, for all its rules."""

    def name(self, node: ast.AST) -> str | None:
        """Full dotted name of a name or attribute chain, when imports say what it is."""
        return self.index.qualified(node)

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self.index.parent.get(node)

    def ancestors(self, node: ast.AST) -> list[ast.AST]:
        """Enclosing nodes, innermost first."""
        found = []
        at = self.index.parent.get(node)
        while at is not None:
            found.append(at)
            at = self.index.parent.get(at)
        return found

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that holds `node`."""
        at: ast.AST | None = node
        while at is not None and not isinstance(at, ast.stmt):
            at = self.index.parent.get(at)
        assert at is not None
        return at

    def keyword(self, call: ast.Call, name: str) -> ast.keyword | None:
        return next((keyword for keyword in call.keywords if keyword.arg == name), None)

    def argument(self, call: ast.Call, position: int, name: str) -> ast.expr | None:
        """The argument given by position or by name; None when absent or hidden behind stars."""
        found = self.keyword(call, name)
        if found is not None:
            return found.value
        if position < len(call.args) and not any(isinstance(arg, ast.Starred) for arg in call.args[: position + 1]):
            return call.args[position]
        return None

    def has_stars(self, call: ast.Call) -> bool:
        """Are some arguments hidden in `*args` or `**kwargs`?"""
        return any(isinstance(arg, ast.Starred) for arg in call.args) or any(kw.arg is None for kw in call.keywords)

    def attr_span(self, node: ast.Attribute) -> Span | None:
        """Where the last word of `a.b.word` stands."""
        if node in self.lost:
            return None
        _, end = self.source.span(node)
        start = end - len(node.attr.encode())
        return (start, end) if self.source.data[start:end] == node.attr.encode() else None

    def rename_attr(self, node: ast.Attribute, new: str) -> Edit | None:
        span = self.attr_span(node)
        return Edit(*span, new.encode()) if span else None

    def in_string(self, node: ast.Constant | ast.JoinedStr, old: str, new: str) -> list[Edit] | None:
        """Edits that replace the word `old` in the text of a string literal; None when the source hides it."""
        found = literals.pieces(self.source, node) if node not in self.lost else None
        if found is None:
            return None
        edits: list[Edit] = []
        word = old.encode()
        for piece in found:
            for part in literals.segments(self.source, piece) or ():
                at = self.source.data.find(word, part.start, part.end) if part.is_text else -1
                while at >= 0:
                    edits.append(Edit(at, at + len(word), new.encode()))
                    at = self.source.data.find(word, at + len(word), part.end)
        return edits or None

    def imports(self, package: str) -> bool:
        """Does the file import a package anywhere, also inside a function?"""
        return any(name.split(".")[0] == package for name in self.imported)

    @cached_property
    def has_relative_imports(self) -> bool:
        return any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in self.index.imports)

    @cached_property
    def imported(self) -> list[str]:
        """Names of all imported modules, relative ones left out."""
        found: list[str] = []
        for node in self.index.imports:
            if isinstance(node, ast.Import):
                found += [alias.name for alias in node.names]
            elif node.level == 0 and node.module:
                found.append(node.module)
        return found

    @cached_property
    def is_script(self) -> bool:
        """Is there an `if __name__ == "__main__"` at the top level?"""
        return any(
            isinstance(node, ast.If)
            and isinstance(node.test, ast.Compare)
            and isinstance(node.test.left, ast.Name)
            and node.test.left.id == "__name__"
            for node in self.tree.body
        )

    @cached_property
    def kept_lines(self) -> frozenset[int]:
        """Lines that carry `# jumar: keep`."""
        return suppress.kept_lines(self.source)

    def is_kept(self, node: ast.stmt | ast.expr) -> bool:
        if not self.kept_lines:
            return False
        return any(line in self.kept_lines for line in range(node.lineno, (node.end_lineno or node.lineno) + 1))

    @cached_property
    def string_spans(self) -> list[Span]:
        """Every string literal's place, sorted; f-strings count as one."""
        spans = {
            self.source.span(node)
            for node in [*self.index.nodes[ast.JoinedStr], *self.index.nodes[ast.Constant]]
            if node not in self.lost
            and (
                isinstance(node, ast.JoinedStr)
                or (isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)))
            )
        }
        return sorted(spans)

    @cached_property
    def docstrings(self) -> set[ast.AST]:
        """Constants that stand alone as statements: documentation, not code."""
        return {
            node.value
            for node in self.index.nodes[ast.Expr]
            if isinstance(node, ast.Expr) and isinstance(node.value, (ast.Constant, ast.JoinedStr))
        }
