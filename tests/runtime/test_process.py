"""Processes: what they say, how they fail to start, and that none is left behind."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from jumar.core.errors import EXIT_FAILED
from jumar.runtime import process, tools
from jumar.runtime.process import PIPE

PYTHON = [sys.executable, "-I", "-S"]


def test_what_a_program_says_is_kept() -> None:
    done = process.run([*PYTHON, "-c", "import sys; print(sys.stdin.read()); sys.exit(3)"], text="asked")
    assert done == (3, "asked\n", "")
    assert done.last == "asked"


def test_a_missing_program_is_told_with_its_reason() -> None:
    with pytest.raises(process.NotStarted, match="cannot start `no-such-program`: no such file") as told:
        process.run(["no-such-program"])
    assert isinstance(told.value.error, FileNotFoundError)
    for start in (process.call, process.start):
        with pytest.raises(process.NotStarted):
            start(["no-such-program"])
    with pytest.raises(process.NotStarted):
        process.become(["no-such-program"], os.environ)


def test_a_program_that_takes_too_long_is_ended() -> None:
    with pytest.raises(process.Late):
        process.run(["sleep", "60"], timeout=0.1)


def test_the_end_reaches_what_a_program_started() -> None:
    shell = process.start(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=PIPE)
    assert shell.stdout is not None
    with shell.stdout:
        inner = int(shell.stdout.readline())
        process.end([shell], grace=10)
    assert shell.returncode == -signal.SIGTERM
    assert _ends(inner)


def test_a_program_that_will_not_end_is_killed() -> None:
    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
    running = process.start([*PYTHON, "-c", stubborn], stdout=PIPE)
    assert running.stdout is not None
    with running.stdout:
        running.stdout.readline()
        process.end([running], grace=0.2)
    assert running.returncode == -signal.SIGKILL


def test_a_program_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from jumar.runtime import process\n"
        "child = process.start(['sleep', '60'], dies_with_us=signal.SIGKILL)\n"
        "print(child.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = process.run([sys.executable, "-c", program])
    assert done.code == -signal.SIGKILL
    assert _ends(int(done.out))


def test_a_program_that_was_left_outlives_us_without_a_warning() -> None:
    program = (
        "from jumar.runtime import process\n"
        "child = process.start(['sleep', '60'], stdout=process.DEVNULL, stderr=process.DEVNULL)\n"
        "process.leave(child); print(child.pid)"
    )
    done = process.run([sys.executable, "-W", "always::ResourceWarning", "-c", program])
    assert (done.code, done.err) == (0, "")
    os.kill(int(done.out), signal.SIGKILL)  # still there
    assert _ends(int(done.out))


def test_a_program_that_was_left_is_no_zombie_when_it_ends() -> None:
    child = process.start(["true"])
    process.leave(child)
    until = time.monotonic() + 60
    while child.returncode is None and time.monotonic() < until:
        time.sleep(0.01)
    assert child.returncode == 0


def test_a_forked_child_tells_why_it_could_not_become_a_program(capfd: pytest.CaptureFixture[str]) -> None:
    child = process.fork(lambda: process.become(["no-such-program"], os.environ))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == EXIT_FAILED
    assert capfd.readouterr().err == "error: cannot start `no-such-program`: no such file or folder\n"


def test_tools_of_others_must_be_there_and_succeed() -> None:
    with pytest.raises(Exception, match="`no-such-program` is not installed here"):
        tools.ask(["no-such-program"])
    with pytest.raises(Exception, match="`sh -c 'echo bad >&2; exit 1'` failed: bad"):
        tools.must(["sh", "-c", "echo bad >&2; exit 1"])
    with pytest.raises(Exception, match="`sleep 60` did not answer in 0 s"):
        tools.ask(["sleep", "60"], timeout=0.1)
    assert tools.must(["echo", "well"]) == "well\n"


def _ends(pid: int) -> bool:
    """Has a process that is not our child ended? A zombie has."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
    return False
