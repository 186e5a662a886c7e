"""What Python 3.9 and 3.10 lack, in one place; with the last of them, this file goes.

Import from here what is named below. Everything else of the package runs unchanged from 3.9 on.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = [
    "SAFE_PATH",
    "UTC", "Match", "MatchAs", "MatchMapping", "MatchSingleton", "MatchStar", "MatchValue", "StrEnum", "Traversable",
    "add_note", "alone", "dataclass", "entry_points", "pairwise", "place_imported_names", "stdlib_module_names",
    "tomllib", "zip",
]  # fmt: skip

if TYPE_CHECKING:
    from ast import Module
    from importlib.metadata import EntryPoint

if TYPE_CHECKING or sys.version_info >= (3, 11):
    from datetime import UTC
    from enum import StrEnum
    from importlib.resources.abc import Traversable

    import tomllib
else:
    from datetime import timezone
    from enum import Enum
    from importlib.abc import Traversable

    import tomli as tomllib

    UTC = timezone.utc

    class StrEnum(str, Enum):
        """Members are strings, and print as such."""

        __str__ = str.__str__
        __format__ = str.__format__

        @staticmethod
        def _generate_next_value_(name: str, *_: Any) -> str:
            return name.lower()


if TYPE_CHECKING or sys.version_info >= (3, 10):
    from ast import Match, MatchAs, MatchMapping, MatchSingleton, MatchStar, MatchValue
    from builtins import zip  # noqa: UP029
    from dataclasses import dataclass
    from itertools import pairwise
else:
    import ast
    import builtins
    import dataclasses
    import itertools

    _T = TypeVar("_T")
    _END = object()
    # No tree of 3.9 has them.
    Match, MatchAs, MatchMapping, MatchSingleton, MatchStar, MatchValue = (
        type(f"Match{name}", (ast.AST,), {}) for name in ("", "As", "Mapping", "Singleton", "Star", "Value")
    )

    def zip(*columns: Iterable[Any], strict: bool = False) -> Iterator[tuple[Any, ...]]:
        """As the built-in one, which has no `strict` yet."""
        return _strictly(columns) if strict else builtins.zip(*columns)

    def _strictly(columns: tuple[Iterable[Any], ...]) -> Iterator[tuple[Any, ...]]:
        for row in itertools.zip_longest(*columns, fillvalue=_END):
            if any(one is _END for one in row):
                raise ValueError("zip() arguments have different lengths")
            yield row

    def pairwise(values: Iterable[_T]) -> Iterator[tuple[_T, _T]]:
        """Each value with the next one."""
        rest = list(values)
        return builtins.zip(rest, rest[1:])

    def dataclass(cls: type | None = None, *, slots: bool = False, kw_only: bool = False, **options: Any) -> Any:
        """Without `slots`, which only save memory. Keywords have no order: `kw_only` puts required fields first."""

        def wrap(cls: type) -> type:
            if kw_only:
                names = vars(cls).get("__annotations__", {})
                cls.__annotations__ = dict(sorted(names.items(), key=lambda item: hasattr(cls, item[0])))
            return dataclasses.dataclass(**options)(cls)

        return wrap if cls is None else wrap(cls)


def place_imported_names(tree: Module, data: bytes) -> None:
    """Give the names of imports the places in the text that trees of 3.9 lack."""
    if sys.version_info >= (3, 10):
        return
    import ast

    lines = data.splitlines(keepends=True)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            _place_names(node, lines)


def _place_names(node: Any, lines: list[bytes]) -> None:
    """A name goes from its first word to the last one before the comma."""
    words: list[list[tuple[int, int, int]]] = [[]]
    for number in range(node.lineno, node.end_lineno + 1):
        line = lines[number - 1][: node.end_col_offset if number == node.end_lineno else None]
        for match in re.finditer(rb"#.*|,|[\w.*\x80-\xff]+", line):
            if match.start() < node.col_offset and number == node.lineno:
                continue
            if match[0] == b"import" and len(words) == 1:
                words = [[]]
            elif match[0] == b",":
                words.append([])
            elif not match[0].startswith(b"#"):
                words[-1].append((number, match.start(), match.end()))
    for alias, place in zip(node.names, words):
        alias.lineno, alias.col_offset = place[0][:2]
        alias.end_lineno, alias.end_col_offset = place[-1][0], place[-1][2]


def add_note(error: BaseException, note: str) -> None:
    """Add a line to what a traceback of this error ends with."""
    if sys.version_info >= (3, 11):
        error.add_note(note)
    elif error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n{note}", *error.args[1:])
        if isinstance(error, ImportError):
            error.msg = error.args[0]


def entry_points(group: str) -> list[EntryPoint]:
    """What installed packages offer under this name."""
    from importlib import metadata

    if sys.version_info >= (3, 10):
        return list(metadata.entry_points(group=group))
    return list(metadata.entry_points().get(group, ()))


def stdlib_module_names() -> frozenset[str]:
    """Top-level modules that come with Python."""
    if sys.version_info >= (3, 10):
        return sys.stdlib_module_names
    import os
    import sysconfig

    stdlib = sysconfig.get_path("stdlib")
    paths = (stdlib, f"{stdlib}/lib-dynload")
    files = (name for path in paths if os.path.isdir(path) for name in os.listdir(path))
    return frozenset({*sys.builtin_module_names, *(name.partition(".")[0] for name in files)} - {"site-packages"})


def alone(program: str) -> list[str]:
    """The interpreter's words for a program of ours as text: nothing is imported from the current folder."""
    return ["-c", f"import sys; sys.path[:] = [place for place in sys.path if place]\n{program}"]


SAFE_PATH: tuple[str, ...] = ("-P",) if sys.version_info >= (3, 11) else ()
"""The interpreter's option that keeps a script's own folder out of `sys.path`; before 3.11 the script does it."""
