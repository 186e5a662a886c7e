"""The cage: everything foreign runs in it (modules, tests, commands and kernels of a project that nobody has read).

A program in the cage has a machine of its own: namespaces without capabilities, a root folder with the interpreter, the
folders it is given and a private home and /tmp in memory, a network that is only a loopback, no environment but what is
handed over, hard limits. It ends with whoever started it. What it writes is never opened out here: results come through
pipes. It fails closed: what cannot be caged does not run. `enter.py` does the work; where the system denies us
namespaces, bubblewrap makes them if it is installed, as distributions often allow them to it alone.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jumar.core.compat import dataclass
from jumar.core.errors import UserError
from jumar.core.held import Held
from jumar.runtime import process, variables
from jumar.runtime.cage import view
from jumar.runtime.process import DEVNULL, Stream

HOME = "/home/jumar"
ALLOWED = ("LANG", "LANGUAGE", "PATH", "TZ", *map(str, (
    variables.CANN, variables.CARDS, variables.LANG, variables.MEMORY, variables.NUMERICS, variables.SOC)))  # fmt: skip
"""Variables of the user that a program in the cage gets, beside `LC_*`: no key, no token, no address."""
_ENTER = str(Path(__file__).with_name("enter.py"))
_PATIENCE = 30.0
"""Seconds until the cage must be shut."""
_GRACE = 10.0
"""Seconds for the launcher to end a cage."""
_LONGEST = 64 << 20
"""Bytes of all that the keeper tells."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program in the cage may use."""

    memory: int = 8 << 30
    """Bytes that one process may write to."""
    all_memory: int = 16 << 30
    """Bytes of all processes together, where the system lets us make a control group."""
    space: int = 4 << 30
    """Bytes of all files that are written."""
    file: int = 4 << 30
    """Bytes of one file."""
    files: int = 4096
    """Open files of a process."""
    processes: int = 4096
    """Processes and threads together."""
    seconds: int = 3600
    """Processor time of a process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cage:
    """What a program sees: `copies` are folders that it may write to and that stay as they are."""

    copies: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    """Files and folders beside the interpreter's own."""
    environ: Mapping[str, str]
    cwd: str
    limits: Limits = Limits()
    collect: tuple[str, ...] = ()
    """Files of the cage whose content is handed out when the program has ended."""


class Refused(UserError):
    """The system allows no cage, so nothing was run."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"this system allows no sandbox, so nothing was run: {reason}",
            "install bubblewrap, or allow user namespaces; `--no-sandbox` runs the project with all your rights",
        )


class Caged:
    """A program in the cage."""

    def __init__(self, launcher: process.Process, held: Held, status: int, hold: int) -> None:
        self.launcher, self.held = launcher, held
        self._status, self._hold = status, hold
        self._told = b""
        self.files: dict[str, bytes] = {}
        """What was collected, once it has ended."""

    def shut(self, line: Mapping[str, Any]) -> Caged:
        """Believe the keeper's first line: the program runs, and what holds it."""
        if "held" not in line:
            raise Refused(str(line.get("error", "it ended before it was shut")))
        self.held = Held(self.held.by, bool(line["held"]["filter"]), bool(line["held"]["group"]))
        return self

    def wait(self, seconds: float | None = None) -> int | None:
        """How the program ended, as `subprocess` says it; None if it runs on. The cage's own end by force is -9."""
        until = None if seconds is None else time.monotonic() + seconds
        while self._status >= 0:
            left = None if until is None else max(0.0, until - time.monotonic())
            if not select.select([self._status], [], [], left)[0]:
                return None
            self._told += (data := os.read(self._status, 1 << 16))
            if not data or len(self._told) > _LONGEST:
                os.close(self._status)
                self._status = -1
        if not self.held.is_cage:
            with contextlib.suppress(process.Late):
                return self.launcher.wait(seconds)
            return None
        self.launcher.wait()
        line = _first(self._told)
        self.files = line.get("files", {})
        code = line.get("code", -9)
        return code if isinstance(code, int) else -9

    def end(self) -> None:
        """No process of it is left afterwards."""
        if self._hold >= 0:
            os.close(self._hold)
            self._hold = -1
            with contextlib.suppress(process.Late):
                self.launcher.wait(_GRACE)  # It ends the rest and tidies up.
        process.kill(self.launcher)
        if self._status >= 0:
            os.close(self._status)
            self._status = -1
        for stream in (self.launcher.stdout, self.launcher.stderr, self.launcher.stdin):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def __enter__(self) -> Caged:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What the user's environment says about language and the emulated machine."""
    return {name: value for name, value in environ.items() if name in ALLOWED or name.startswith("LC_")}


def launch(
    cage: Cage | None,
    words: Sequence[str],
    *,
    environ: Mapping[str, str],
    cwd: str,
    stdin: Stream = DEVNULL,
    stdout: Stream = DEVNULL,
    stderr: Stream = DEVNULL,
    handed: Sequence[int] = (),
) -> Caged:
    """Start a program in a cage, or, where the user has typed `--no-sandbox`, without one."""
    if cage is not None:
        return start(cage, words, stdin=stdin, stdout=stdout, stderr=stderr, handed=handed)
    running = process.start(
        words, env=environ, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, passed=handed,
        dies_with_us=signal.SIGKILL,
    )  # fmt: skip
    return Caged(running, Held("nothing"), -1, -1)


def start(
    cage: Cage,
    words: Sequence[str],
    *,
    stdin: Stream = DEVNULL,
    stdout: Stream = DEVNULL,
    stderr: Stream = DEVNULL,
    handed: Sequence[int] = (),
    by: str = "",
) -> Caged:
    """Start a program in the cage; `handed` are descriptors that it gets under the same numbers. Raises `Refused`.

    `by` asks for `namespaces` or `bubblewrap` alone.
    """
    streams = (stdin, stdout, stderr)
    # User 0 could write to the settings of the kernel that bubblewrap shows.
    tool = shutil.which("bwrap") if os.geteuid() != 0 and by != "namespaces" else None
    try:
        return _start(cage, words, streams, handed, tool if by == "bubblewrap" else None)
    except Refused:
        if tool is None or by:
            raise
        return _start(cage, words, streams, handed, tool)


def _start(
    cage: Cage, words: Sequence[str], streams: tuple[Stream, Stream, Stream], handed: Sequence[int], tool: str | None
) -> Caged:
    status, told = os.pipe()
    released, hold = os.pipe()
    seen = view.build(cage.read, cage.copies, HOME)
    spec = {
        "inside": tool is not None, "status": told, "hold": released, "pass": list(handed), "words": list(words),
        "env": dict(cage.environ), "cwd": cage.cwd, "limits": _numbers(cage.limits), "collect": list(cage.collect),
        **seen.spec(),
    }  # fmt: skip
    before: list[str] = []
    opened = [told, released]
    if tool is not None:
        options, data, rest = seen.bubblewrap(cage.limits.space)
        before, opened = [tool, *options, "--"], [*opened, *data]
        spec |= rest
    command = [*before, sys.executable, "-I", "-S", _ENTER, marshal.dumps(spec).hex()]
    try:
        launcher = process.start(
            command, env={}, cwd="/", stdin=streams[0], stdout=streams[1], stderr=streams[2],
            passed=(*handed, *opened),
        )  # fmt: skip
    finally:
        for number in opened:
            os.close(number)
    caged = Caged(launcher, Held("bubblewrap" if tool else "namespaces"), status, hold)
    try:
        return caged.shut(_line(status))
    except BaseException:
        caged.end()
        raise


def _numbers(limits: Limits) -> dict[str, int]:
    return {name: getattr(limits, name) for name in Limits.__slots__}


def _line(status: int) -> dict[str, Any]:
    """The first line that the keeper tells; empty if it tells none."""
    until, data = time.monotonic() + _PATIENCE, b""
    while not data.endswith(b"\n"):
        if not select.select([status], [], [], max(0.0, until - time.monotonic()))[0]:
            return {"error": f"it was not shut within {_PATIENCE:g} s"}
        byte = os.read(status, 1)
        if not byte:
            break
        data += byte
    return _first(data)


def _first(data: bytes) -> dict[str, Any]:
    try:
        found = marshal.loads(bytes.fromhex(data.split(b"\n")[0].decode()))
    except (EOFError, ValueError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}
