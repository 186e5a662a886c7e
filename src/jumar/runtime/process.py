"""The one place that starts processes (to their end, in the background, or in our place) and ends them.

Linux ties a process to the *thread* that started it (PR_SET_PDEATHSIG, prctl(2)): a thread that starts one with
`dies_with_us` must outlive it. Between fork and exec only system calls are safe when other threads run, so libc is
loaded before the fork and nothing is imported after it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, Any, NamedTuple, NoReturn, Union

from jumar.core.errors import EXIT_FAILED, UserError, meaning
from jumar.core.printable import printable

Process = subprocess.Popen[bytes]
Stream = Union[int, IO[Any], None]
PIPE, DEVNULL, STDOUT = subprocess.PIPE, subprocess.DEVNULL, subprocess.STDOUT
Late = subprocess.TimeoutExpired
_PDEATHSIG = 1
"""PR_SET_PDEATHSIG of <linux/prctl.h>."""
_TICK = 0.05


class NotStarted(UserError):
    """The system refused to start a program; `error` says why."""

    def __init__(self, program: str, error: OSError, hint: str | None = None) -> None:
        super().__init__(f"cannot start `{program}`: {meaning(error).reason}", hint or meaning(error).hint)
        self.error = error


class Done(NamedTuple):
    """Exit code and output of a process."""

    code: int
    out: str
    err: str

    @property
    def last(self) -> str:
        """The last line of stderr, else of stdout; empty if there is none."""
        return ((self.err or self.out).strip().splitlines() or [""])[-1]


def run(
    words: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    text: str = "",
    timeout: float | None = None,
) -> Done:
    """Run a program to its end and return its output; `text` is its standard input. Raises `NotStarted` and `Late`."""
    try:
        done = subprocess.run(
            list(words), env=env, cwd=cwd, input=text, capture_output=True, text=True, errors="replace",
            timeout=timeout, check=False,
        )  # fmt: skip
    except OSError as error:
        raise NotStarted(words[0], error) from error
    return Done(done.returncode, done.stdout, done.stderr)


def call(
    words: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stdin: Stream = None,
    stdout: Stream = None,
    stderr: Stream = None,
) -> int:
    """Run a program to its end on our own streams, or the given ones; its exit code."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        return subprocess.run(list(words), env=env, stdin=stdin, stdout=stdout, stderr=stderr, check=False).returncode
    except OSError as error:
        raise NotStarted(words[0], error) from error


def start(
    words: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    stdin: Stream = DEVNULL,
    stdout: Stream = None,
    stderr: Stream = None,
    own_session: bool = True,
    dies_with_us: signal.Signals | None = None,
    passed: Sequence[int] = (),
) -> Process:
    """Start a program in the background, in a session of its own, so that `end` and `kill` reach all that it starts.

    `dies_with_us` is the signal that it gets when this thread is gone; `passed` are descriptors that it inherits.
    """
    try:
        return subprocess.Popen(
            list(words), env=env, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=own_session,
            preexec_fn=_tie(os.getpid(), dies_with_us) if dies_with_us else None, pass_fds=passed,
        )  # fmt: skip
    except OSError as error:
        raise NotStarted(words[0], error) from error


def become(words: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    """Turn this process into a program: exit code, signals and standard streams are then its own."""
    try:
        os.execvpe(words[0], list(words), dict(env))
    except OSError as error:
        raise NotStarted(words[0], error) from error


def fork(then: Callable[[], NoReturn], stderr: int = -1) -> int:
    """A child that dies with us and does `then`, which becomes a program; it prints errors itself. Returns its id."""
    tie = _tie(os.getpid(), signal.SIGKILL)
    child = os.fork()
    if child:
        return child
    try:
        tie()
        if stderr >= 0:
            os.dup2(stderr, 2)
        then()
    except UserError as error:
        os.write(2, printable(f"error: {error.message}\n").encode("utf-8", "backslashreplace"))
    finally:
        os._exit(EXIT_FAILED)


def leave(process: Process) -> None:
    """Let a process outlive us. While we live it is waited for, so that it does not stay as a zombie when it ends."""
    threading.Thread(target=process.wait, daemon=True).start()


def end(processes: Iterable[Process], grace: float) -> None:
    """Ask the processes and all they started to end, wait, then kill the rest; none of them is left afterwards."""
    running = [process for process in processes if process.poll() is None]
    for process in running:
        _signal_group(process, signal.SIGTERM)
    until = time.monotonic() + grace
    while time.monotonic() < until and any(process.poll() is None for process in running):
        time.sleep(_TICK)
    for process in running:
        kill(process)


def kill(process: Process, patience: float | None = None) -> int | None:
    """Kill a process and all it started; its exit code, None for one that stays in the kernel beyond `patience`."""
    _signal_group(process, signal.SIGKILL)
    with contextlib.suppress(Late):
        return process.wait(patience)
    return None


def _signal_group(process: Process, number: signal.Signals) -> None:
    """Its own session is its group; a process that has ended may have left others there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _tie(parent: int, number: signal.Signals) -> Callable[[], None]:
    """What a child calls to die with `parent`, even if that is already gone."""
    prctl = _prctl()

    def tie() -> None:
        prctl(_PDEATHSIG, int(number))
        if os.getppid() != parent:
            os._exit(EXIT_FAILED)

    return tie


@functools.cache
def _prctl() -> Callable[..., int]:
    try:
        import ctypes

        found: Callable[..., int] = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):  # not Linux
        return lambda *_: 0
    return found
