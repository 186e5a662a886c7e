"""Reads the shared table of who uses which emulated card (native/machine/ledger.h), and takes dead processes out.

Nothing heavy is imported: npu-smi starts with this.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Mapping
from typing import NamedTuple

from jumar.runtime import variables

FOLDER = "/dev/shm"
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
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return []
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
