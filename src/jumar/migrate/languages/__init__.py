"""Which language a file is in, and the function that migrates it; one module per language, found by its place.

A language module has `migrate(source, settings) -> Outcome` and says which files are its own: `SUFFIXES`, `NAMES` (a
pattern on the whole file name, which comes before suffixes), `FOLDERS` (folders whose files are its own, with the
suffixes they then have) and `INTERPRETER` (a pattern on a `#!` line). The rules of each pass lie in a folder of their
own (`passes/torch/shell/`); several languages may share one (`config` serves YAML, JSON, TOML and INI).
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import cache
from pathlib import PurePath
from typing import NamedTuple

from jumar.core import discover
from jumar.core.source import Source
from jumar.migrate.engine import Outcome
from jumar.migrate.settings import Settings
from jumar.runtime import settings as settings_file


class _Files(NamedTuple):
    """Which files are in which language."""

    names: re.Pattern[str]
    """One group for each language, under its name."""
    folders: dict[tuple[str, str], str]
    suffixes: dict[str, str]
    interpreters: dict[str, re.Pattern[bytes]]


def classify(path: str, head: bytes = b"") -> str | None:
    """The language of a file by name, folder, suffix or `#!` line; None for what Jumar does not read."""
    pure = PurePath(path)
    if pure.name == settings_file.FILE:
        return None
    files = _files()
    match = files.names.fullmatch(pure.name)
    if match is not None:
        return match.lastgroup
    language = files.folders.get((pure.parent.name, pure.suffix)) or files.suffixes.get(pure.suffix.lower())
    if language is None and head.startswith(b"#!"):
        first = head.partition(b"\n")[0]
        language = next((name for name, pattern in files.interpreters.items() if pattern.search(first)), None)
    return language


@cache
def _files() -> _Files:
    modules = {module.__name__.rpartition(".")[2]: module for module in discover.modules(__name__)}
    names = {name: module.NAMES for name, module in modules.items() if hasattr(module, "NAMES")}
    return _Files(
        re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in names.items())),
        {
            (folder, suffix): name
            for name, module in modules.items()
            for folder, suffixes in getattr(module, "FOLDERS", {}).items()
            for suffix in suffixes
        },
        {suffix: name for name, module in modules.items() for suffix in getattr(module, "SUFFIXES", ())},
        {name: module.INTERPRETER for name, module in modules.items() if hasattr(module, "INTERPRETER")},
    )


def migrator(language: str) -> Callable[[Source, Settings], Outcome]:
    module = importlib.import_module(f"{__name__}.{language}")
    migrate: Callable[[Source, Settings], Outcome] = module.migrate
    return migrate
