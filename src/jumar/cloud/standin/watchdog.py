"""Started as a script beside a runner: when the runner is gone, however it ended, ends what is left of its job.

usage: watchdog.py MARK, with a standard input that the runner holds open. MARK is a variable with its value that all
processes of the job have in their environment: that finds those which left their process group, too.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

PATIENCE = 10.0
STEP = 0.05


def end(mark: str) -> None:
    """Kill every process that has the mark, and those it starts meanwhile."""
    last = time.monotonic() + PATIENCE
    while (left := members(mark)) and time.monotonic() < last:
        for process in left:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(STEP)


def members(mark: str) -> list[int]:
    """Ids of the processes that have the mark; none on a system without /proc."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdecimal() and int(name) != os.getpid():
            with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                if mark.encode() in file.read().split(b"\0"):
                    found.append(int(name))
    return found


def main() -> None:
    while os.read(0, 1):
        pass
    end(sys.argv[1])


if __name__ == "__main__":
    main()
