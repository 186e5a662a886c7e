"""Which language a file is in, and the function that migrates it; one module per language, loaded on use.

A language module has `migrate(source, settings) -> Outcome`. Its rules lie in `rules/<family>/`; several languages
may share a family (`config` serves YAML, JSON, TOML and INI).
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import PurePath

from jumar.core.source import Source
from jumar.migrate.engine import Outcome
from jumar.migrate.settings import Settings

NAMES: tuple[tuple[str, str], ...] = ()
"""Patterns on the whole file name and the language they mean, tried before suffixes."""
SUFFIXES = {".py": "python", ".pyi": "python"}


def classify(path: str, head: bytes = b"") -> str | None:
    """The language of a file by name, suffix or `#!` line; None for what Jumar does not read."""
    pure = PurePath(path)
    for pattern, language in NAMES:
        if re.fullmatch(pattern, pure.name):
            return language
    if pure.suffix.lower() in SUFFIXES:
        return SUFFIXES[pure.suffix.lower()]
    if head.startswith(b"#!"):
        first = head.partition(b"\n")[0]
        if b"python" in first:
            return "python"
    return None


def migrator(language: str) -> Callable[[Source, Settings], Outcome]:
    module = importlib.import_module(f"jumar.migrate.languages.{language}")
    found: Callable[[Source, Settings], Outcome] = module.migrate
    return found
