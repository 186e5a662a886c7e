"""This machine."""

from __future__ import annotations

import glob
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

from jumar.machine.probe import DENIED, LATE, MISSING, TIMEOUT, Ran, Read

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
    """Run a command; one that hangs is ended with all it started, one that cannot be ended is left behind."""
    try:
        process = subprocess.Popen(
            command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
    except PermissionError:
        return Ran(126, problem=DENIED)
    except (OSError, ValueError):
        return Ran(127, problem=MISSING)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return _end(process)
    return Ran(process.returncode, _text(out), _text(err))


def _end(process: subprocess.Popen[bytes]) -> Ran:
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        out, err = process.communicate(timeout=1)
    except subprocess.TimeoutExpired:  # stuck in the kernel, as npu-smi is when a card has gone
        return Ran(-1, problem=LATE)
    return Ran(-1, _text(out), _text(err), LATE)


def _text(raw: bytes) -> str:
    return raw[:LARGEST].decode("utf-8", "replace")
