"""Watches a process that runs a project where the system allows no cage: no network, no programs, no writing outside.

Loaded by the child alone, by its path: nothing else of Jumar is there.
"""

from __future__ import annotations

import os
import sys
from typing import Any

NETWORK = "the network is shut off while the project is verified"
OUTSIDE = "only the project's copy can be written while it is verified"
PROGRAM = "no program can be started while the project is verified, as nothing would watch it"
SIGNAL = "no other process can be signalled while the project is verified"
_LOCAL = ("127.", "::1", "localhost")
_WRITERS = {"os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.truncate", "os.link", "os.symlink", "os.chmod",
            "shutil.rmtree"}  # fmt: skip
_PROGRAMS = {"subprocess.Popen", "os.system", "os.posix_spawn", "os.spawn", "os.exec"}
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def install(scratch: str) -> None:
    """From now on a call that reaches out raises; there is no way to take this back."""
    allowed = (os.path.realpath(scratch) + os.sep, "/dev/", "/proc/self/")

    def is_outside(path: Any) -> bool:
        if not isinstance(path, (str, bytes, os.PathLike)):
            return False
        return not os.path.realpath(os.fsdecode(path)).startswith(allowed)

    def hook(event: str, values: tuple[Any, ...]) -> None:
        if event == "socket.connect" and not _is_local(values[1]):
            raise OSError(101, NETWORK)
        if event == "socket.getaddrinfo" and not _is_local((values[0],)):
            raise OSError(101, NETWORK)
        if event == "open" and isinstance(values[2], int) and values[2] & _WRITE_FLAGS and is_outside(values[0]):
            raise PermissionError(30, OUTSIDE, values[0])
        if event in _PROGRAMS:
            raise PermissionError(30, PROGRAM)
        if event in ("os.kill", "os.killpg") and not _is_own(values[0]):
            raise PermissionError(30, SIGNAL)
        if event in _WRITERS and is_outside(values[0]):
            raise PermissionError(30, OUTSIDE, values[0])

    sys.addaudithook(hook)


def _is_own(pid: int) -> bool:
    """Is it this process, or one that it forked?"""
    if pid in (os.getpid(), os.getpgrp()):
        return True
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1]) == os.getpid()
    except (OSError, ValueError, IndexError):
        return False


def _is_local(address: Any) -> bool:
    """Is it this machine: a loopback, or a socket in the file system?"""
    if not isinstance(address, tuple):
        return True
    host = address[0]
    host = host.decode("latin-1") if isinstance(host, bytes) else host
    return host is None or str(host) == "" or str(host).startswith(_LOCAL)
