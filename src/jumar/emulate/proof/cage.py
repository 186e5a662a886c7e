"""Started as a script: shuts a process off from the network and all files but its scratch folder, then becomes it.

usage: cage.py SCRATCH MEMORY SECONDS -- PROGRAM ARGUMENTS...

A user namespace needs no rights. Inside it all file systems are read-only but the scratch folder and a private
/dev/shm, the only network is a loopback of its own, and no other process can be seen or signalled. Exit code 97 says
that the system forbids it; without arguments behind `--` that is all that is asked. MEMORY (bytes) bounds what a
process writes to, SECONDS its CPU time.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
import sys

FORBIDDEN = 97
_NEWUSER, _NEWNS, _NEWNET, _NEWIPC, _NEWPID = 0x10000000, 0x00020000, 0x40000000, 0x08000000, 0x20000000
_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of <linux/prctl.h>."""
_BIND, _REC, _PRIVATE = 4096, 16384, 1 << 18
_MOUNT_SETATTR, _RECURSIVE, _READ_ONLY = 442, 0x8000, 1
"""mount_setattr(2): its number is the same on every architecture."""
_BY_SIGNAL = 128
_SET_FLAGS, _IS_UP = 0x8914, 1
_LARGEST_FILE = 4 << 30


def main() -> None:
    scratch, memory, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    command = sys.argv[5:]
    try:
        _enter(scratch)
    except OSError as error:
        if not command:
            sys.stderr.write(f"{error}\n")
            sys.exit(FORBIDDEN)
    else:
        _become_first()
    _limit(memory, seconds)
    if command:
        os.execvp(command[0], command)


def _enter(scratch: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()

    def check(result: int, what: str) -> None:
        if result:
            number = ctypes.get_errno()
            raise OSError(number, f"{what}: {os.strerror(number)}")

    def mount(source: str, target: str, kind: str, flags: int) -> None:
        result = libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), None)
        check(result, f"mount {target}")

    def set_read_only(path: str, flags: int, *, on: bool) -> None:
        change = struct.pack("QQQQ", _READ_ONLY if on else 0, 0 if on else _READ_ONLY, 0, 0)
        result = libc.syscall(_MOUNT_SETATTR, -100, path.encode(), flags, change, len(change))
        check(result, f"mount_setattr {path}")

    check(libc.unshare(_NEWUSER | _NEWNS | _NEWNET | _NEWIPC | _NEWPID), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    mount("none", "/", "none", _REC | _PRIVATE)
    mount(scratch, scratch, "none", _BIND)
    set_read_only("/", _RECURSIVE, on=True)
    set_read_only(scratch, 0, on=False)
    mount("tmpfs", "/dev/shm", "tmpfs", 0)
    _raise_loopback()
    os.chdir(os.getcwd())  # The folder we stand in is still that of the file system before.


def _become_first() -> None:
    """Go on in a world of its own that ends with its first process, which only waits; so does this one."""
    libc = ctypes.CDLL(None, use_errno=True)
    first = os.fork()
    if first:
        code = _wait(first)
        if code > _BY_SIGNAL:
            os.kill(os.getpid(), code - _BY_SIGNAL)
        os._exit(code)
    libc.prctl(_DEATH_SIGNAL, int(signal.SIGKILL))
    libc.mount(b"proc", b"/proc", b"proc", ctypes.c_ulong(0), None)  # Refused in some containers: then it stays.
    second = os.fork()
    if second:
        os._exit(_wait(second))


def _wait(child: int) -> int:
    """How a child ended, as a shell says it."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else _BY_SIGNAL - code


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(handle, _SET_FLAGS, struct.pack("16sH14x", b"lo", _IS_UP))


def _limit(memory: int, seconds: int) -> None:
    for kind, most in (
        (resource.RLIMIT_DATA, memory), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, _LARGEST_FILE),
    ):  # fmt: skip
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, hard))


if __name__ == "__main__":
    main()
