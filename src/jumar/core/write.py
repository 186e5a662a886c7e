"""Atomic writing: after a crash or a full disk a file is either the old one or the new one."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from jumar.core.errors import UserError


def replace(path: Path, data: bytes) -> None:
    """Write `data` to `path` at once, keeping mode bits; a symbolic link stays and its target is replaced."""
    target = Path(os.path.realpath(path))
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    name = ""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".jumar", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode if mode is not None else 0o666 & ~_umask())
        os.replace(name, target)
    except OSError as error:
        if name and os.path.exists(name):
            os.unlink(name)
        raise UserError(f"cannot write `{path}`: {error.strerror or error}", "the file is unchanged") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
