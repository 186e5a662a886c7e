"""Places that refuse: files that even root may not open, a full disk and a read-only one, without touching the host."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jumar.core.compat import zip

_VERSION_3 = 0x20080522
_OVERRIDES = 0b1110
"""CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH and CAP_FOWNER of <linux/capability.h>."""
_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_READ_ONLY, _REMOUNT, _PRIVATE = 1, 32, 0x44000
_LIBC = ctypes.CDLL(None, use_errno=True)
_FORK = os.fork


@contextlib.contextmanager
def without_override() -> Iterator[None]:
    """The mode of a file counts for root as it does for everybody."""
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    before = (ctypes.c_uint32 * 6)()
    _LIBC.capget(header, before)
    less = (ctypes.c_uint32 * 6)(*before)
    less[0] &= ~_OVERRIDES
    _LIBC.capset(header, less)
    try:
        yield
    finally:
        _LIBC.capset(header, before)


def with_disks(folder: Path, work: Callable[[], Any]) -> tuple[Any, str]:
    """What `work` gives in a process that sees a full disk at `folder/full` and a read-only one at `folder/fixed`.

    Or why there is none: a machine may forbid namespaces.
    """
    with tempfile.TemporaryFile("w+") as answer:
        child = _FORK()
        if child == 0:
            try:
                problem = _mount(folder)
                json.dump([None if problem else work(), problem], answer)
            except BaseException:
                json.dump([None, f"failed: {traceback.format_exc()}"], answer)
            answer.flush()
            os._exit(0)
        os.waitpid(child, 0)
        answer.seek(0)
        result, problem = json.load(answer)
    return result, problem


def _mount(folder: Path) -> str:
    ids = os.getuid(), os.getgid()
    if _LIBC.unshare(_NEW_MOUNTS | (0 if ids[0] == 0 else _NEW_USER)) != 0:
        return f"no namespaces here: {os.strerror(ctypes.get_errno())}"
    if ids[0] != 0:
        Path("/proc/self/setgroups").write_text("deny")
        for name, own in zip(("uid", "gid"), ids, strict=True):
            Path(f"/proc/self/{name}_map").write_text(f"{own} {own} 1")
    _LIBC.mount(b"none", b"/", None, _PRIVATE, None)
    for name, flags in (("full", 0), ("fixed", 0), ("fixed", _REMOUNT | _READ_ONLY)):
        place = os.fsencode(folder / name)
        if _LIBC.mount(b"tmpfs", place, b"tmpfs", flags, b"size=64k") != 0:
            return f"no file system can be mounted here: {os.strerror(ctypes.get_errno())}"
        if name == "full":
            with contextlib.suppress(OSError), open(folder / "full/filler", "wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
    return ""
