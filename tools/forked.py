"""Runs work in processes forked from one that has imported torch already, each with a time limit."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jumar import start

_FORK = multiprocessing.get_context("forkserver")


@contextmanager
def prepared(jobs: int, machine: str, modules: tuple[str, ...]) -> Iterator[None]:
    """Around all `run`s: the emulated machine, threads per process, and what is imported in advance."""
    os.environ["JUMAR_EMULATE"] = "1"
    start.begin()
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // jobs)))
    os.environ.setdefault("JUMAR_MACHINE", f"{machine}-{os.getpid()}")
    _FORK.set_forkserver_preload(list(modules))
    try:
        yield
    finally:
        _clear_up()


def run(target: Callable[..., None], arguments: tuple[Any, ...], log: Path, limit: float) -> int | None:
    """The exit code; None when nothing was added to `log` for `limit` seconds."""
    process = _FORK.Process(target=_alone, args=(target, arguments))
    process.start()
    before = _size(log)
    while True:
        process.join(limit)
        if not process.is_alive():
            return process.exitcode
        now = _size(log)
        if now == before:
            break
        before = now
    _end(process)
    return None


def records(log: Path) -> list[dict[str, Any]]:
    """The lines that the process wrote, without one that was cut off."""
    if not log.exists():
        return []
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]


def how_it_ended(code: int | None) -> str:
    if code is None:
        return "ran out of time"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"ended with code {code}"


def tail(log: Path) -> str:
    output = log.with_name(log.name + ".out")
    return output.read_text(encoding="utf-8", errors="replace")[-1500:] if output.exists() else ""


def _alone(target: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    os.setsid()
    target(*arguments)


def _clear_up() -> None:
    """The processes end without saying good-bye, or are killed: their rows of the shared table stay behind."""
    from jumar.emulate import ledger

    ledger.read(ledger.file_name("", 0, 0, os.environ))  # JUMAR_MACHINE is set: it alone makes the name


def _end(process: Any) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)  # a test may have started processes of its own
    except ProcessLookupError:
        process.kill()
    process.join()


def _size(log: Path) -> int:
    return log.stat().st_size if log.exists() else -1
