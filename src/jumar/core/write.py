"""Atomic writing: after a crash or a full disk a file is either the old one or the new one."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from jumar.core.errors import cannot


def replace(path: Path, data: bytes) -> None:
    """Write `data` to `path` at once, keeping mode bits; a symbolic link stays and its target is replaced."""
    try:
        mode = os.stat(path).st_mode if os.path.lexists(path) and not _dangles(path) else None
        if mode is None or stat.S_ISREG(mode):
            _replace(Path(os.path.realpath(path)), data, mode)
        else:
            _put_into(path, data)
    except OSError as error:
        raise cannot(f"write `{path}`", error, "the file is unchanged" if os.path.isfile(path) else None) from error


def _dangles(path: Path) -> bool:
    """Is it a link to something that is not there yet?"""
    try:
        os.stat(path)
    except FileNotFoundError:
        return True
    return False


def _replace(target: Path, data: bytes, mode: int | None) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".jumar", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, stat.S_IMODE(mode) if mode is not None else 0o666 & ~_umask())
        os.replace(name, target)
    except OSError:
        os.unlink(name)
        raise


def _put_into(path: Path, data: bytes) -> None:
    """A device or a pipe takes the bytes and stays what it is; one that nobody reads from is not waited for."""
    with open(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "wb") as file:
        os.set_blocking(file.fileno(), True)
        file.write(data)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
