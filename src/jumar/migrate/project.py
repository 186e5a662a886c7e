"""Runs the right engine on every file of a project: from the cache what did not change, the rest on all cores."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from jumar.core.compat import zip
from jumar.core.errors import UserError
from jumar.core.finding import Finding, Level
from jumar.core.source import Source, UnreadableError
from jumar.migrate import elsewhere, languages, noise, walk
from jumar.migrate.cache import BATCH, Cache
from jumar.migrate.document import about_file
from jumar.migrate.look import Text
from jumar.migrate.result import FileResult, ProjectResult
from jumar.migrate.rule import ELSEWHERE, FAILED, UNREADABLE, passes
from jumar.migrate.settings import Settings
from jumar.runtime import variables

POOL_FROM = 100
"""Below this many files a second process costs more than it brings."""
CHUNK = 12

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
    texts = list(walk.texts(paths))
    count, lines = len(texts), sum(text.raw.count(b"\n") for text in texts)
    store = Cache() if cache else None
    if store is not None:
        store.recall(texts)
    settings = _with_facts(paths, texts, settings)
    supported = tuple(where for one in passes() for where in one.supported(texts))
    beside = _beside(paths, texts, settings)
    if store is not None:
        store.use(settings, texts)
    results: list[FileResult] = []
    with _without_collector():
        for done, result in enumerate(_results(texts, settings, store, jobs or os.cpu_count() or 1)):
            if result is not None and beside.get(result.path):
                result = dataclasses.replace(result, findings=(*result.findings, *beside[result.path]))
            result = without_skipped(result, settings)
            if result is not None and (result.findings or result.changed or result.extra):
                results.append(result)
            if progress is not None:
                progress(done + 1, count)
    if store is not None:
        store.close()
    results.sort(key=lambda result: result.path)
    seconds = time.perf_counter() - started
    return ProjectResult(walk.root(paths), tuple(results), settings, count, lines, seconds, supports_ascend=supported)


def migrate_bytes(name: str, raw: bytes, settings: Settings, *, quiet: bool = False) -> FileResult | None:
    """The result for one file's content, or None when Jumar has nothing to do with files of its kind.

    With `quiet`, what tells nobody anything is benign, as it is in reports.
    """
    language = languages.classify(name, raw[: walk.HEAD])
    if language is None:
        return None
    if len(raw) > walk.MAX_BYTES:
        return FileResult(name, raw, raw, (_left_out(name, walk.TOO_LARGE),))
    try:
        source = Source.from_bytes(name, raw, python=language == "python")
    except UnreadableError as error:
        return FileResult(name, raw, raw, (_left_out(name, str(error)),))
    outcome = languages.migrator(language)(source, settings)
    try:
        after = source.encode(outcome.data) if outcome.data != source.data else raw
    except UnicodeEncodeError:
        return FileResult(name, raw, raw, (_left_out(name, f"the new text does not fit into `{source.encoding}`"),))
    result = FileResult(name, raw, after, tuple(outcome.findings), outcome.extra)
    return noise.quiet(result, outcome.syntax, settings) if quiet else result


def without_skipped(result: FileResult | None, settings: Settings) -> FileResult | None:
    """Without what `--skip` names that is no rule's, such as files that cannot be read."""
    if result is None or settings.skip.isdisjoint(finding.id for finding in result.findings):
        return result
    return dataclasses.replace(result, findings=tuple(one for one in result.findings if one.id not in settings.skip))


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


def _with_facts(paths: Sequence[Path], texts: Sequence[Text], settings: Settings) -> Settings:
    facts = walk.facts(paths, [text.path for text in texts])
    for one in passes():
        if one.is_wanted(settings) or not one.goes_first:
            facts = one.prepare(facts, texts)
    return dataclasses.replace(settings, facts=facts)


def _beside(paths: Sequence[Path], texts: Sequence[Text], settings: Settings) -> dict[str, list[Finding]]:
    """What files that were given alone need of others, by path."""
    if settings.cloud is not None or (settings.only and ELSEWHERE.id not in settings.only):
        return {}
    alone = {path.as_posix() for path in paths if path.is_file()}
    return {
        text.path: elsewhere.findings(text, texts, settings, migrate_bytes)
        for text in texts
        if text.path in alone and text.path.endswith(".py")
    }


def _results(texts: list[Text], settings: Settings, store: Cache | None, jobs: int) -> Iterator[FileResult | None]:
    """The result of every file, those from the cache first; a text is let go when nothing wants it any more."""
    todo: list[Text] = []
    while texts:
        some, texts[:BATCH] = texts[:BATCH], []
        known = store.results([text for text in some if not text.problem]) if store is not None else {}
        yield from known.values()
        todo += [text for text in some if text.path not in known]
    for text, result in _fresh(todo, settings, jobs):
        if store is not None and result is not None and not text.problem:
            store.put(text, result)
        yield result


def _fresh(todo: list[Text], settings: Settings, jobs: int) -> Iterator[tuple[Text, FileResult | None]]:
    tasks = [(todo[start : start + CHUNK], settings) for start in range(0, len(todo), CHUNK)]
    if jobs == 1 or len(todo) < POOL_FROM:
        for text in todo:
            yield text, _one(text, settings)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(jobs, initializer=_leave_interrupts) as pool:
        try:
            with _interrupts_later():
                found = pool.map(_work, tasks)
            for (texts, _), answers in zip(tasks, found, strict=True):
                for text, answer in zip(texts, answers, strict=True):
                    yield text, _whole(answer, text.raw)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextlib.contextmanager
def _interrupts_later() -> Iterator[None]:
    """Processes start here: an interrupt between a fork and its first line of ours would be shown as an error."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _leave_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal; only the first one answers it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _work(task: tuple[list[Text], Settings]) -> list[FileResult | None]:
    """The results of some files; texts that the first process has are not sent back to it."""
    texts, settings = task
    return [_light(_one(text, settings)) for text in texts]


def _one(text: Text, settings: Settings) -> FileResult | None:
    """One file's result; what fails in it is said and never stops the others."""
    if text.problem:
        return FileResult(text.path, b"", b"", (_left_out(text.path, text.problem),))
    try:
        return migrate_bytes(text.path, text.raw, settings, quiet=True)
    except UserError:
        raise
    except Exception as error:
        if variables.DEBUG.read():
            raise
        return FileResult(text.path, text.raw, text.raw, (_crashed(text.path, error),))


def _light(result: FileResult | None) -> FileResult | None:
    if result is None or result.changed:
        return result
    return dataclasses.replace(result, before=b"", after=b"")


def _whole(result: FileResult | None, raw: bytes) -> FileResult | None:
    if result is None or result.changed:
        return result
    return dataclasses.replace(result, before=raw, after=raw)


def _left_out(name: str, reason: str) -> Finding:
    return about_file(UNREADABLE, name, f"this file was skipped: {reason}")


def _crashed(name: str, error: Exception) -> Finding:
    message = f"Jumar failed on this file and left it as it is: {type(error).__name__}: {error}"
    fix = "please report this with the file, or the lines around it; `JUMAR_DEBUG=1` shows the traceback"
    return about_file(FAILED, name, message, fix, Level.ERROR)
