"""Walks files and folders, runs the right engine on each file, and keeps the results as plain values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from jumar.core.errors import UserError
from jumar.core.finding import Finding, Level, Safety, State, Where
from jumar.core.source import Source, UnreadableError
from jumar.migrate import languages
from jumar.migrate.settings import Settings

SKIPPED_FOLDERS = {".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "node_modules", ".tox", ".mypy_cache"}


@dataclass(frozen=True, slots=True)
class FileResult:
    path: str
    before: bytes
    after: bytes
    findings: tuple[Finding, ...]
    extra: tuple[tuple[str, bytes], ...] = ()

    @property
    def changed(self) -> bool:
        return self.before != self.after


def files(paths: Iterable[Path]) -> Iterator[Path]:
    """Every file below the given paths, in a stable order, without what tools generate."""
    for path in paths:
        if path.is_file():
            yield path
        elif path.is_dir():
            for folder, folders, names in os.walk(path):
                folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
                yield from (Path(folder) / name for name in sorted(names))
        else:
            raise UserError(f"no such file or folder: `{path}`")


def migrate_bytes(name: str, raw: bytes, settings: Settings) -> FileResult | None:
    """The result for one file's content, or None when Jumar has nothing to do with files of its kind."""
    language = languages.classify(name, raw[:200])
    if language is None:
        return None
    try:
        source = Source.from_bytes(name, raw, python=language == "python")
    except UnreadableError as error:
        return FileResult(name, raw, raw, (_unreadable(name, str(error)),))
    outcome = languages.migrator(language)(source, settings)
    after = source.encode(outcome.data) if outcome.data != source.data else raw
    return FileResult(name, raw, after, tuple(outcome.findings), outcome.extra)


def _unreadable(name: str, reason: str) -> Finding:
    message = f"this file was left out: {reason}"
    return Finding("PT002", Level.WARNING, message, Where(name), None, Safety.SHOW, State.HAND, "unreadable-file")
