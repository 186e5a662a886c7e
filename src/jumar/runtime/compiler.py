"""Runs the compiler and ends it together with the process that holds the other end of standard input.

A program of its own, started with `-I -S` as the leader of a process group: a killed g++ would leave cc1plus running.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading


def main() -> int:
    threading.Thread(target=_end_with_caller, daemon=True).start()
    return subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, check=False).returncode


def _end_with_caller() -> None:
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
