"""Started as a script: gives a process its own /cache, /home/ma-user, /home/work and /user/config, then becomes it.

usage: enter.py SPEC.json -- PROGRAM ARGUMENTS...

A private mount namespace inside a user namespace needs no rights and leaves the machine as it is: the root is put
together anew from bind mounts, with the job's folders among them. Exit code 97 says that the system forbids it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "runtime" / "cage"))
import namespaces as ns  # type: ignore[import-not-found]

del sys.path[0]

FORBIDDEN = 97


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
    user, group = os.getuid(), os.getgid()
    ns.unshare(ns.NEWUSER | ns.NEWNS)
    ns.map_self(user, group)
    ns.make_private()
    ns.mount("tmpfs", root, "tmpfs")
    ns.mount("none", root, flags=ns.UNBINDABLE)
    own = {path.split("/")[1] for path in private}
    for name in os.listdir("/"):
        if name not in own:
            _copy_entry(f"/{name}", f"{root}/{name}")
    for top in sorted(own):
        os.makedirs(f"{root}/{top}", exist_ok=True)
        if os.path.isdir(f"/{top}") and f"/{top}" not in private:
            for name in os.listdir(f"/{top}"):
                if f"/{top}/{name}" not in private:
                    _copy_entry(f"/{top}/{name}", f"{root}/{top}/{name}")
    for path, source in private.items():
        ns.bind(source, root + path)
    if hosts and os.path.isfile(f"{root}/etc/hosts"):
        ns.mount(hosts, f"{root}/etc/hosts", flags=ns.BIND)
    os.chroot(root)


def _copy_entry(source: str, target: str) -> None:
    """A folder of the real root in the new one; links are made again, single files left out."""
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
    elif os.path.isdir(source):
        try:
            ns.bind(source, target)
        except OSError:
            # A folder that may not be bound (another user's) stays empty; nothing of the job is in it.
            os.makedirs(target, exist_ok=True)


if __name__ == "__main__":
    main()
