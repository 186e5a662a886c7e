"""The system calls behind private views of a machine: namespaces, mounts, capabilities (Linux, by ctypes).

Scripts that are started by their path use it before anything else of Jumar can be imported: standard library only, and
little of it, as every import costs each program milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER = 0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000
NEWPID, NEWNET = 0x20000000, 0x40000000
READ_ONLY, NO_SUID, NO_DEVICES, NO_EXEC = 1, 2, 4, 8
BIND, RECURSIVE, UNBINDABLE, PRIVATE = 4096, 16384, 1 << 17, 1 << 18
_REMOUNT, _DETACH = 32, 2
_FLAGS = {"nosuid": NO_SUID, "nodev": NO_DEVICES, "noexec": NO_EXEC, "noatime": 1024, "nodiratime": 2048,
          "relatime": 1 << 21}  # fmt: skip
"""Options of a mount that a remount must repeat: a user namespace may not take them away."""
_DEATH_SIGNAL, _DUMPABLE, _DROP_BOUND, _SECURE_BITS, _NO_NEW_PRIVILEGES = 1, 4, 24, 28, 38
"""Of <linux/prctl.h>."""
_ROOT_IS_NOBODY = 0xEF
"""Of <linux/securebits.h>: user 0 gets no capabilities by being 0, keeps none, and this is locked."""
_CAPABILITY_VERSION = 0x20080522
_JOIN_KEYRING = 1
_INTERNET, _DATAGRAMS = 2, 2
_LOOPBACK_FLAGS, _IS_UP = 0x8914, 1
_NUMBERS = {"x86_64": {"pivot_root": 155, "keyctl": 250}, "aarch64": {"pivot_root": 41, "keyctl": 219}}

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(kinds: int) -> None:
    _check(_libc.unshare(kinds), "unshare")


def map_self(user: int, group: int) -> None:
    """Stay the same user inside a new user namespace."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def mount(source: str, target: str, kind: str = "none", flags: int = 0, options: str = "") -> None:
    words = (os.fsencode(source), os.fsencode(target), kind.encode())
    _check(_libc.mount(*words, ctypes.c_ulong(flags), options.encode() or None), f"mount {target}")


def bind(source: str, target: str) -> None:
    """Show a file or folder with all that is mounted below it; the target is made."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "ab"):
            pass
    mount(source, target, flags=BIND | RECURSIVE)


def make_private() -> None:
    """What is mounted from now on stays in this namespace, and what others mount stays away."""
    mount("none", "/", flags=RECURSIVE | PRIVATE)


def remount(target: str, flags: int) -> None:
    mount("none", target, flags=_REMOUNT | BIND | flags)


def unmount(target: str) -> None:
    _check(_libc.umount2(os.fsencode(target), _DETACH), f"unmount {target}")


def pivot(new: str, old: str) -> None:
    _check(_call("pivot_root", os.fsencode(new), os.fsencode(old)), "pivot_root")


def mounts() -> Iterator[tuple[str, int]]:
    """Everything that is mounted here: the place and its flags."""
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            fields = line.split(b" ")
            target = os.fsdecode(fields[4].decode("unicode_escape").encode("latin-1"))  # A space is \040.
            yield target, sum(_FLAGS.get(word, 0) for word in fields[5].decode().split(","))


def raise_loopback() -> None:
    handle = _libc.socket(_INTERNET, _DATAGRAMS, 0)
    _check(_libc.ioctl(handle, ctypes.c_ulong(_LOOPBACK_FLAGS), struct.pack("16sH14x", b"lo", _IS_UP)), "loopback")
    os.close(handle)


def name_host(name: str) -> None:
    _check(_libc.sethostname(name.encode(), len(name)), "sethostname")


def drop_capabilities() -> None:
    """None now, none by starting a program, none ever."""
    _libc.prctl(_SECURE_BITS, _ROOT_IS_NOBODY, 0, 0, 0)
    number = 0
    while _libc.prctl(_DROP_BOUND, number, 0, 0, 0) == 0:
        number += 1
    header, nothing = struct.pack("Ii", _CAPABILITY_VERSION, 0), bytes(24)
    _check(_libc.capset(header, nothing), "capset")
    _check(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")


def leave_keyring() -> None:
    """An empty session keyring; kernels without keyrings have none to leave."""
    _call("keyctl", _JOIN_KEYRING, None)


def die_with_parent(number: int) -> None:
    """Get a signal when the thread that made us ends. It must be alive: ask that afterwards."""
    _check(_libc.prctl(_DEATH_SIGNAL, number, 0, 0, 0), "prctl")


def set_unreadable() -> None:
    """No other process of this user may read or change our memory, or list our files."""
    _check(_libc.prctl(_DUMPABLE, 0, 0, 0, 0), "prctl")


def _call(name: str, *values: object) -> int:
    number = _NUMBERS.get(os.uname().machine, {}).get(name)
    if number is None:
        ctypes.set_errno(38)  # ENOSYS
        return -1
    result: int = _libc.syscall(number, *values)
    return result


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
