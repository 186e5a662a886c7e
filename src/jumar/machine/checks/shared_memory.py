"""`/dev/shm`: loaders with workers and collectives inside one server need room there; docker gives 64 MB."""

from __future__ import annotations

from jumar.machine.check import Check, Report, Skip, limit, warning
from jumar.machine.host import Host

CHECK = Check("DR104", "shared-memory", "room in `/dev/shm`")


def run(host: Host) -> Report:
    rows = [line.split() for line in host.ask("df", "-Pk", "/dev/shm").out.splitlines()[1:]]
    if not rows or len(rows[-1]) < 4 or not rows[-1][1].isdecimal() or not rows[-1][3].isdecimal():
        raise Skip("`df /dev/shm` says nothing")
    total, free = int(rows[-1][1]) >> 10, int(rows[-1][3]) >> 10
    told = f"{total:,} MB, {free:,} MB free"
    wanted = int(limit("shared_memory_mib"))
    if host.prefix or not host.has_npus() or free >= wanted:
        return Report(told)
    if total < wanted:
        fix = (
            "docker run --shm-size=16g …   # or --ipc=host"
            if host.in_container()
            else "mount -o remount,size=16g /dev/shm"
        )
        message = f"`/dev/shm` has {total:,} MB: loaders with workers end in `Bus error`"
    else:
        fix = "ls -lS /dev/shm   # remove what dead jobs left"
        message = f"`/dev/shm` is full: {free:,} of {total:,} MB are free"
    return Report(told, (warning(CHECK, message, fix),))
