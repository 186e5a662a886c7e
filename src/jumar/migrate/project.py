"""Walks files and folders, runs the right engine on each file, and keeps the results as plain values."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from jumar.core.errors import UserError
from jumar.core.finding import Finding, Level, Safety, State, Where
from jumar.core.source import Source, UnreadableError
from jumar.migrate import languages
from jumar.migrate.result import FileResult, ProjectResult
from jumar.migrate.settings import Settings

SKIPPED_FOLDERS = {".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "node_modules", ".tox", ".mypy_cache"}


Progress = Callable[[int, int], None]
"""Told how many of how many files are done."""


def migrate(
    paths: Sequence[Path],
    settings: Settings,
    *,
    jobs: int | None = None,
    cache: bool = True,
    progress: Progress | None = None,
) -> ProjectResult:
    """Run the rules over all files below `paths`; nothing is written."""
    started = time.perf_counter()
    names = list(files(paths))
    results, lines = [], 0
    for done, path in enumerate(names):
        if progress is not None:
            progress(done, len(names))
        try:
            raw = path.read_bytes()
        except OSError as error:
            results.append(FileResult(path.as_posix(), b"", b"", (_unreadable(path.as_posix(), str(error.strerror)),)))
            continue
        result = migrate_bytes(path.as_posix(), raw, settings)
        if result is not None:
            lines += raw.count(b"\n")
            if result.findings or result.changed or result.extra:
                results.append(result)
    seconds = time.perf_counter() - started
    return ProjectResult(root(paths), tuple(results), settings, len(names), lines, seconds)


def root(paths: Sequence[Path]) -> str:
    """The folder that a copy of these paths mirrors."""
    folders = [path if path.is_dir() else path.parent for path in paths]
    if len(folders) == 1:
        return folders[0].as_posix()
    return Path(os.path.relpath(os.path.commonpath([folder.absolute() for folder in folders]))).as_posix()


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
