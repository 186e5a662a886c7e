"""Runs a program and explains its failure: same streams, signals and exit code, and a look at its stderr."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from jumar.machine.explain.result import Explanation

from jumar.runtime import noise, process

KEPT = 2 << 20
"""Bytes kept of the beginning of stderr, and as many of its end."""
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_STOPPED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
"""Somebody ended the program: that needs no explanation."""


def run(become: Callable[[], NoReturn], failed: Callable[[Explanation], None]) -> int:
    """Fork, let the child become the program, pass its stderr on; the exit code is the program's.

    `failed` is told what a failure means, where that is known.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    begin = _size_of_stderr_file()
    reading, writing = (-1, -1) if begin is not None else _channel()
    child = process.fork(become, stderr=writing)
    kept = _Kept()
    with _signals(child):
        if reading >= 0:
            os.close(writing)
            _pass_on(reading, child, kept)
        status = os.waitpid(child, 0)[1] if kept.status is None else kept.status
    code = os.waitstatus_to_exitcode(status)
    if code != 0 and -code not in _STOPPED and code != 128 + signal.SIGINT:
        explained = _explained(kept.text() if begin is None else _rest_of_stderr_file(begin))
        if explained is not None:
            failed(explained)
    if code < 0:
        _die_alike(-code)
    return code


class _Kept:
    """The first and the last part of what went through."""

    def __init__(self) -> None:
        self.status: int | None = None
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0

    def add(self, data: bytes) -> None:
        if len(self._head) < KEPT:
            self._head += data
            return
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail_size - len(self._tail[0]) > KEPT:
            self._tail_size -= len(self._tail.popleft())

    def text(self) -> bytes:
        return bytes(self._head) + b"".join(self._tail)


def _channel() -> tuple[int, int]:
    """A pipe, or a terminal of its own where stderr is one: programs look whether it is."""
    if not os.isatty(2):
        return os.pipe()
    import fcntl
    import pty
    import termios
    import tty

    reading, writing = pty.openpty()
    tty.setraw(writing)
    with contextlib.suppress(OSError):
        fcntl.ioctl(writing, termios.TIOCSWINSZ, fcntl.ioctl(2, termios.TIOCGWINSZ, bytes(8)))
    return reading, writing


def _pass_on(reading: int, child: int, kept: _Kept) -> None:
    """Until the child has ended and nothing more is there; a grandchild that lives on does not hold us up."""
    fold = noise.Fold()
    while True:
        ready = select.select([reading], [], [], 0.1)[0]
        if ready:
            try:
                data = os.read(reading, 1 << 16)
            except OSError:  # A terminal says so when its last user has gone.
                data = b""
            if not data:
                break
            _show(fold.feed(data), kept)
        elif kept.status is None:
            pid, status = os.waitpid(child, os.WNOHANG)
            kept.status = status if pid else None
        else:
            break
    _show(fold.end(), kept)
    os.close(reading)


def _show(data: bytes, kept: _Kept) -> None:
    kept.add(data)
    with contextlib.suppress(OSError):
        _write_all(2, data)


def _write_all(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]


@contextlib.contextmanager
def _signals(child: int) -> Iterator[None]:
    """Ctrl-C reaches the child through the terminal; what was sent to us alone is passed on."""

    def forward(number: int, frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    before: dict[int, Any] = {number: signal.signal(number, forward) for number in _FORWARDED}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN if os.isatty(0) else forward)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _size_of_stderr_file() -> int | None:
    """Where stderr is a file it is left alone, and read afterwards; None where it is not."""
    try:
        found = os.fstat(2)
        if not stat.S_ISREG(found.st_mode):
            return None
        with open("/proc/self/fd/2", "rb"):
            return found.st_size
    except OSError:
        return None


def _rest_of_stderr_file(begin: int) -> bytes:
    with open("/proc/self/fd/2", "rb") as file:
        file.seek(begin)
        head = file.read(KEPT)
        file.seek(max(begin + len(head), os.fstat(2).st_size - KEPT))
        return head + file.read(KEPT)


def _explained(text: bytes) -> Explanation | None:
    """Only what is known: the program's own message is on the screen already."""
    from jumar.machine.explain import log

    result = log.explain_text(text.splitlines(keepends=True), "stderr")
    return result if result.says_more else None


def _die_alike(number: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
