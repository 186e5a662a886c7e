"""How long something takes on a machine that has nothing else to do: a busy one must not change what is advised."""

from __future__ import annotations

import os
import threading
import time

_STATE = threading.local()


class Stopwatch:
    """Time since it was made, without the time that this thread waited for a processor."""

    def __init__(self) -> None:
        self._wall = time.perf_counter_ns()
        self._waited = waited()
        self._worked = time.process_time_ns()

    def spent(self) -> float:
        """Microseconds, waits for files and other processes included."""
        return max(0.0, (time.perf_counter_ns() - self._wall - (waited() - self._waited)) / 1000)

    def worked(self) -> float:
        """Microseconds of computing: never more than all threads of this process had of processors."""
        return min(self.spent(), (time.process_time_ns() - self._worked) / 1000)


def waited() -> int:
    """Nanoseconds that this thread was ready and had no processor; 0 where the kernel does not tell."""
    try:
        file = _STATE.file
    except AttributeError:
        try:
            file = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            file = -1
        _STATE.file = file
    if file < 0:
        return 0
    try:
        return int(os.pread(file, 128, 0).split()[1])
    except (OSError, ValueError, IndexError):
        return 0
