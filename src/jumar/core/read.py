"""Reading what a user names: a pipe without a writer and a device without an end are refused instead of waited for."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from jumar.core.errors import UserError, cannot

_OPEN_ALREADY = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")
"""What the shell opened for us, such as `<(command)`: it has a writer."""


def content(path: str | Path, hint: str | None = None) -> bytes:
    """All bytes of a file; `hint` says what to do where the system's error tells nothing better."""
    try:
        check(path)
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise cannot(f"read `{path}`", error, hint) from error


def check(path: str | Path) -> None:
    """Refuse what never ends or never begins; errors of the system pass."""
    mode, name = os.stat(path).st_mode, os.fspath(path)
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or name == os.devnull or name.startswith(_OPEN_ALREADY):
        return
    kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    kind = kinds.get(stat.S_IFMT(mode), "a device")
    raise UserError(f"`{path}` is {kind}, not a file", "write its content to a file, and name that")
