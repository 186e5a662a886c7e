"""What a caged process may use: hard limits, a control group where one can be made, a filter of system calls.

Part of `enter.py`: standard library only.
"""

from __future__ import annotations

import ctypes
import os
import resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_GROUPS = "/sys/fs/cgroup"
_SECCOMP = "libseccomp.so.2"
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 1
"""SCMP_ACT_ALLOW, and SCMP_ACT_ERRNO(EPERM)."""
REFUSED = (
    "acct", "add_key", "bpf", "delete_module", "fanotify_init", "finit_module", "fsconfig", "fsmount", "fsopen",
    "fspick", "init_module", "io_uring_enter", "io_uring_register", "io_uring_setup", "kcmp", "kexec_file_load",
    "kexec_load", "keyctl", "lookup_dcookie", "mount", "mount_setattr", "move_mount", "name_to_handle_at",
    "open_by_handle_at", "open_tree", "perf_event_open", "pivot_root", "process_madvise", "quotactl", "reboot",
    "request_key", "setns", "swapoff", "swapon", "syslog", "umount", "umount2", "unshare", "userfaultfd",
    "vhangup",
)  # fmt: skip
"""System calls that no training program makes, and that have opened sandboxes before."""


def apply(most: Mapping[str, int]) -> None:
    """Hard limits of this process and of each that it starts; a process cannot raise them again."""
    kinds = {
        "memory": resource.RLIMIT_DATA, "seconds": resource.RLIMIT_CPU, "file": resource.RLIMIT_FSIZE,
        "files": resource.RLIMIT_NOFILE, "processes": resource.RLIMIT_NPROC,
    }  # fmt: skip
    for name, kind in kinds.items():
        hard = resource.getrlimit(kind)[1]
        value = most[name] if hard == resource.RLIM_INFINITY else min(most[name], hard)
        resource.setrlimit(kind, (value, value))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def cap_processes(most: int) -> None:
    """Number of processes in this process namespace (Linux 6.14), as `RLIMIT_NPROC` does not bind user 0."""
    try:
        with open("/proc/sys/kernel/pid_max", "w", encoding="ascii") as file:
            file.write(str(max(most, 301)))  # The kernel takes no less.
    except OSError:
        return


def filter_calls() -> bool:
    """Refuse what is in `REFUSED` from now on, where libseccomp is installed; did it work?"""
    try:
        library = ctypes.CDLL(_SECCOMP)
    except OSError:
        return False
    library.seccomp_init.restype = ctypes.c_void_p
    rules = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(_ALLOW)))
    if not rules:
        return False
    for name in REFUSED:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:
            library.seccomp_rule_add(rules, ctypes.c_uint32(_REFUSE), ctypes.c_int(number), ctypes.c_uint(0))
    worked: bool = library.seccomp_load(rules) == 0
    library.seccomp_release(rules)
    return worked


class Group:
    """A control group that bounds memory and processes of all that is in it; inactive where none can be made."""

    def __init__(self, most: Mapping[str, int]) -> None:
        name = f"jumar-{os.getpid()}"
        files = {"memory.max": most["all_memory"], "memory.swap.max": 0, "pids.max": most["processes"]}
        older = {"memory.limit_in_bytes": most["all_memory"], "pids.max": most["processes"]}
        self._folders: list[str] = []
        if os.path.exists(f"{_GROUPS}/cgroup.controllers"):
            self._make(f"{_GROUPS}/{name}", files)
        else:
            for kind in ("memory", "pids"):
                self._make(f"{_GROUPS}/{kind}/{name}", {key: v for key, v in older.items() if key.startswith(kind)})

    def _make(self, folder: str, files: Mapping[str, int]) -> None:
        above = os.path.dirname(folder)
        try:
            for stale in os.listdir(above):
                if stale.startswith("jumar-"):
                    _remove(f"{above}/{stale}")  # Left by a launcher that was killed; one that is in use stays.
            os.mkdir(folder)
        except OSError:
            return
        self._folders.append(folder)
        for name, value in files.items():
            try:
                with open(f"{folder}/{name}", "w", encoding="ascii") as file:
                    file.write(str(value))
            except OSError:
                if name != "memory.swap.max":  # Not on every kernel; the rest bounds without it.
                    self.remove()
                    return

    def add(self, process: int) -> bool:
        """Is the process bounded now?"""
        try:
            for folder in self._folders:
                with open(f"{folder}/cgroup.procs", "w", encoding="ascii") as file:
                    file.write(str(process))
        except OSError:
            self.remove()
        return bool(self._folders)

    def remove(self) -> None:
        for folder in self._folders:
            _remove(folder)
        self._folders.clear()


def _remove(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        return
