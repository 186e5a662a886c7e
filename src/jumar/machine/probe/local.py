"""This machine."""

from __future__ import annotations

import glob
import os
import selectors
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from jumar.machine.probe import DENIED, ENDLESS, LATE, MISSING, TIMEOUT, Ran, Read
from jumar.runtime import process as processes

LARGEST = 4 << 20
"""Characters of a file or an answer that are read; version files and vendor commands stay far below."""


class Local:
    name = "this machine"
    broken = ""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = dict(environ)

    def run(self, command: Sequence[str], timeout: float = TIMEOUT) -> Ran:
        return run(command, timeout, {**self.environ, "LC_ALL": "C"})

    def read(self, path: str) -> Read:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return Read(file.read(LARGEST))
        except PermissionError:
            return Read(None, DENIED)
        except (OSError, ValueError):
            return Read(None, MISSING)

    def paths(self, pattern: str) -> list[str]:
        return sorted(glob.glob(pattern))

    def close(self) -> None:
        pass


def run(command: Sequence[str], timeout: float, environ: Mapping[str, str] | None = None) -> Ran:
    """Run a command for at most so many seconds; nothing that it does raises."""
    try:
        process = processes.start(command, env=environ, stdout=processes.PIPE, stderr=processes.PIPE)
    except processes.NotStarted as refused:
        denied = isinstance(refused.error, PermissionError)
        return Ran(126, problem=DENIED) if denied else Ran(127, problem=MISSING)
    except ValueError:
        return Ran(127, problem=MISSING)
    try:
        texts, problem = _listen(process, time.monotonic() + timeout)
        code = _end(process, now=bool(problem))
    finally:
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    out, err = (raw.decode("utf-8", "replace") for raw in texts)
    return Ran(code, out, err, problem)


def _listen(process: processes.Process, until: float) -> tuple[list[bytes], str]:
    """What the command prints on both streams, and why it was not heard to its end."""
    assert process.stdout is not None and process.stderr is not None
    texts = [b"", b""]
    with selectors.DefaultSelector() as selector:
        for place, stream in enumerate((process.stdout, process.stderr)):
            selector.register(stream, selectors.EVENT_READ, place)
        while selector.get_map():
            ready = selector.select(max(0.0, until - time.monotonic()))
            if not ready:
                return texts, LATE
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                texts[key.data] += data
                if not data:
                    selector.unregister(key.fileobj)
            if sum(map(len, texts)) > LARGEST:
                return texts, ENDLESS
    return texts, ""


def _end(process: processes.Process, *, now: bool) -> int:
    """The exit code; one that hangs is ended with all it started, one stuck in the kernel is left behind."""
    if not now:
        with suppress(processes.Late):
            return process.wait(timeout=1)
    code = processes.kill(process, patience=1)
    return -1 if code is None else code
