"""Runs the right engine on every file of a project: from the cache what did not change, the rest on all cores."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from jumar.core.errors import UserError
from jumar.core.finding import Finding, Level, Safety, State, Where
from jumar.core.source import Source, UnreadableError
from jumar.migrate import languages, walk
from jumar.migrate.cache import Cache
from jumar.migrate.result import FileResult, ProjectResult
from jumar.migrate.rule import Rule
from jumar.migrate.rules.python import internal_error, unreadable_file
from jumar.migrate.settings import Settings
from jumar.runtime import variables

POOL_FROM = 100
"""Below this many files a second process costs more than it brings."""
CHUNK = 12
MAX_BYTES = 5_000_000

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
    names = list(walk.files(paths))
    settings = _with_facts(paths, names, settings)
    store = Cache(settings) if cache else None
    results: list[FileResult] = []
    lines = 0
    with _without_collector():
        for done, (count, result) in enumerate(_results(names, settings, store, jobs or os.cpu_count() or 1)):
            lines += count
            if result is not None and (result.findings or result.changed or result.extra):
                results.append(result)
            if progress is not None:
                progress(done + 1, len(names))
    if store is not None:
        store.close()
    results.sort(key=lambda result: result.path)
    seconds = time.perf_counter() - started
    return ProjectResult(walk.root(paths), tuple(results), settings, len(names), lines, seconds)


def migrate_bytes(name: str, raw: bytes, settings: Settings) -> FileResult | None:
    """The result for one file's content, or None when Jumar has nothing to do with files of its kind."""
    language = languages.classify(name, raw[:200])
    if language is None:
        return None
    if len(raw) > MAX_BYTES:
        return FileResult(name, raw, raw, (_left_out(name, f"it is larger than {MAX_BYTES // 1_000_000} MB"),))
    try:
        source = Source.from_bytes(name, raw, python=language == "python")
    except UnreadableError as error:
        return FileResult(name, raw, raw, (_left_out(name, str(error)),))
    outcome = languages.migrator(language)(source, settings)
    try:
        after = source.encode(outcome.data) if outcome.data != source.data else raw
    except UnicodeEncodeError:
        return FileResult(name, raw, raw, (_left_out(name, f"the new text does not fit into `{source.encoding}`"),))
    return FileResult(name, raw, after, tuple(outcome.findings), outcome.extra)


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Syntax trees are many small objects without cycles: looking for cycles among them only costs time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _with_facts(paths: Sequence[Path], names: Sequence[Path], settings: Settings) -> Settings:
    sources = (raw for name in names if name.suffix == ".py" and (raw := _read(name)) is not None)
    return dataclasses.replace(settings, facts=walk.facts(paths, names, sources))


def _results(
    names: Sequence[Path], settings: Settings, store: Cache | None, jobs: int
) -> Iterator[tuple[int, FileResult | None]]:
    """Line count and result of every file, those from the cache first."""
    todo: list[str] = []
    keys: dict[str, bytes] = {}
    for path in names:
        name, raw = path.as_posix(), _read(path) if store is not None else None
        if store is not None and raw is not None:
            keys[name] = store.key(name, raw)
            known = store.get(keys[name], name, raw)
            if known is not None:
                yield raw.count(b"\n"), _slim(known)
                continue
        todo.append(name)
    for lines, result in _fresh(todo, settings, jobs):
        if store is not None and result is not None and result.path in keys:
            store.put(keys[result.path], result)
        yield lines, _slim(result)


def _fresh(todo: list[str], settings: Settings, jobs: int) -> Iterator[tuple[int, FileResult | None]]:
    tasks = [(todo[start : start + CHUNK], settings) for start in range(0, len(todo), CHUNK)]
    if jobs == 1 or len(todo) < POOL_FROM:
        for task in tasks:
            yield from _work(task)
        return
    with ProcessPoolExecutor(jobs, initializer=_leave_interrupts) as pool:
        try:
            for answers in pool.map(_work, tasks):
                yield from answers
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _leave_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal; only the first one answers it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _work(task: tuple[list[str], Settings]) -> list[tuple[int, FileResult | None]]:
    names, settings = task
    return [_one(name, settings) for name in names]


def _one(name: str, settings: Settings) -> tuple[int, FileResult | None]:
    """One file's result; what fails in it is said and never stops the others."""
    try:
        raw = Path(name).read_bytes()
    except OSError as error:
        return 0, FileResult(name, b"", b"", (_left_out(name, error.strerror or str(error)),))
    lines = raw.count(b"\n")
    try:
        return lines, migrate_bytes(name, raw, settings)
    except UserError:
        raise
    except Exception as error:
        if variables.DEBUG.read():
            raise
        return lines, FileResult(name, raw, raw, (_crashed(name, error),))


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _slim(result: FileResult | None) -> FileResult | None:
    """An unchanged file's text is not kept: a million lines must fit into little memory."""
    if result is None or result.changed:
        return result
    return FileResult(result.path, b"", b"", result.findings, result.extra)


def _left_out(name: str, reason: str) -> Finding:
    message = f"this file was left out: {reason}"
    return _about(unreadable_file.RULE, Level.WARNING, name, message, None)


def _crashed(name: str, error: Exception) -> Finding:
    message = f"Jumar failed on this file and left it as it is: {type(error).__name__}: {error}"
    fix = "please report this with the file, or the lines around it; `JUMAR_DEBUG=1` shows the traceback"
    return _about(internal_error.RULE, Level.ERROR, name, message, fix)


def _about(rule: Rule, level: Level, name: str, message: str, fix: str | None) -> Finding:
    """A finding about a whole file."""
    return Finding(rule.id, level, message, Where(name), fix, Safety.SHOW, State.HAND, rule.name)
