"""Reads the shared table of who uses which emulated card (native/machine/ledger.h), and takes dead processes out.

Nothing heavy is imported: npu-smi starts with this.
"""

from __future__ import annotations

import fcntl
import os
import stat
import struct
from collections.abc import Mapping
from typing import NamedTuple

from jumar.runtime import variables

FOLDER = "/dev/shm"
_NAMES = 16
_MAGIC = 0x4A4D5231
_HEAD = struct.Struct("=IIIIQ32s")
_ROW = struct.Struct("=iiQQ32s")


class Row(NamedTuple):
    pid: int
    card: int
    used: int
    name: str


def file_name(soc: str, cards: int, memory_mib: int, environ: Mapping[str, str]) -> str:
    """The file of a machine: as `file_name` in native/machine/ledger.cpp."""
    key = variables.MACHINE.read(environ) or f"{soc}-{cards}-{memory_mib}"
    return f"{FOLDER}/jumar-{os.getuid()}-{key.replace('/', '_')}"


def read(path: str) -> list[Row]:
    """The rows of living processes; rows of dead ones are removed, and the file with the last of them."""
    found = _open(path)
    if found is None:
        return []
    handle, path = found
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        data = os.read(handle, os.fstat(handle).st_size)
        if len(data) < _HEAD.size or _HEAD.unpack_from(data)[0] != _MAGIC:
            return []
        rows = []
        for at in range(_HEAD.size, len(data) - _ROW.size + 1, _ROW.size):
            pid, card, started, used, name = _ROW.unpack_from(data, at)
            if pid == 0:
                continue
            if _start_time(pid) == started:
                rows.append(Row(pid, card, used, name.split(b"\0")[0].decode(errors="replace")))
            else:
                os.pwrite(handle, bytes(_ROW.size), at)
        if not rows and os.fstat(handle).st_nlink:
            os.unlink(path)
        return rows
    finally:
        os.close(handle)


def _open(path: str) -> tuple[int, str] | None:
    """The file, or the one with a number where somebody else took its name: as native/machine/own_file.cpp finds it."""
    for name in (path, *(f"{path}~{number}" for number in range(1, _NAMES))):
        try:
            handle = os.open(name, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        about = os.fstat(handle)
        if stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o022:
            return handle, name
        os.close(handle)
    return None


def busy(pid: int) -> float:
    """Which share of the host's processors the process used since it started, in percent."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        with open("/proc/uptime", encoding="ascii") as file:
            now = float(file.read().split()[0])
    except OSError:
        return 0.0
    ticks = os.sysconf("SC_CLK_TCK")
    life = now - int(fields[19]) / ticks
    used = (int(fields[11]) + int(fields[12])) / ticks
    return min(100.0, 100.0 * used / max(life, 0.01) / (os.cpu_count() or 1))


def _start_time(pid: int) -> int:
    try:
        # As native/machine/process.cpp has it: qemu makes up the file of the process itself.
        with open(f"/proc/{pid}/task/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return -1 if fields[0] in "ZX" else int(fields[19])
    except (OSError, IndexError, ValueError):
        return -1
