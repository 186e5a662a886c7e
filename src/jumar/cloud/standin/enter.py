"""Started as a script: gives a process its own /cache, /home/ma-user, /home/work and /user/config, then becomes it.

usage: enter.py SPEC.json -- PROGRAM ARGUMENTS...

A private mount namespace inside a user namespace needs no rights and leaves the machine as it is: the root is put
together anew from bind mounts, with the job's folders among them. Exit code 97 says that the system forbids it.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

FORBIDDEN = 97
_NEWUSER, _NEWNS = 0x10000000, 0x00020000
_BIND, _REC, _PRIVATE, _UNBINDABLE = 4096, 16384, 1 << 18, 1 << 17


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        spec = json.load(file)
    command = sys.argv[3:]
    if spec.get("private"):
        try:
            _enter(spec["root"], spec["private"], spec.get("hosts", ""))
        except OSError as error:
            sys.stderr.write(f"jumar: no private folders here: {error}\n")
            sys.exit(FORBIDDEN)
    if command:
        os.chdir(spec["folder"])
        os.execvp(command[0], command)


def _enter(root: str, private: dict[str, str], hosts: str) -> None:
    """`private` says which folder of this machine stands for which folder of the job, `hosts` what is /etc/hosts."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()

    def check(result: int, what: str) -> None:
        if result:
            number = ctypes.get_errno()
            raise OSError(number, f"{what}: {os.strerror(number)}")

    def mount(source: str, target: str, kind: str, flags: int) -> None:
        result = libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), None)
        check(result, f"mount {target}")

    def bind(source: str, target: str) -> None:
        os.makedirs(target, exist_ok=True)
        mount(source, target, "none", _BIND | _REC)

    check(libc.unshare(_NEWUSER | _NEWNS), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    mount("none", "/", "none", _REC | _PRIVATE)
    mount("tmpfs", root, "tmpfs", 0)
    mount("none", root, "none", _UNBINDABLE)
    own = {path.split("/")[1] for path in private}
    for name in os.listdir("/"):
        if name not in own:
            _copy_entry(f"/{name}", f"{root}/{name}", bind)
    for top in sorted(own):
        os.makedirs(f"{root}/{top}", exist_ok=True)
        if os.path.isdir(f"/{top}") and f"/{top}" not in private:
            for name in os.listdir(f"/{top}"):
                if f"/{top}/{name}" not in private:
                    _copy_entry(f"/{top}/{name}", f"{root}/{top}/{name}", bind)
    for path, source in private.items():
        bind(source, root + path)
    if hosts and os.path.isfile(f"{root}/etc/hosts"):
        mount(hosts, f"{root}/etc/hosts", "none", _BIND)
    os.chroot(root)


def _copy_entry(source: str, target: str, bind: object) -> None:
    """A folder of the real root in the new one; links are made again, single files left out."""
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
    elif os.path.isdir(source):
        try:
            bind(source, target)  # type: ignore[operator]
        except OSError:
            # A folder that may not be bound (another user's) stays empty; nothing of the job is in it.
            os.makedirs(target, exist_ok=True)


if __name__ == "__main__":
    main()
