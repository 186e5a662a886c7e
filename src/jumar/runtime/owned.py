"""Files that steer Jumar: plain, small, and of the user who runs it; anything else is refused, never waited for.

The owner counts as git counts it (`safe.directory`): the effective user, and under sudo also who called it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from jumar.core.errors import UserError, cannot

LARGEST = 64 << 10
"""Bytes of a settings file."""
CODE = 4 << 20
"""Bytes of a file of code."""


def users(environ: Mapping[str, str] | None = None) -> frozenset[int]:
    """The ids of users whose files may steer this process."""
    own = os.geteuid()
    caller = (os.environ if environ is None else environ).get("SUDO_UID", "")
    if own == 0 and caller.isascii() and caller.isdecimal() and len(caller) < 11:
        return frozenset((own, int(caller)))
    return frozenset((own,))


def is_own(path: Path) -> bool:
    """Does it belong to one of them? A link counts as itself."""
    try:
        return os.lstat(path).st_uid in users()
    except OSError:
        return False


def read(path: Path, largest: int = LARGEST) -> bytes:
    """The content of a plain file of the user's own; `UserError` for anything else."""
    try:
        if stat.S_ISREG(os.lstat(path).st_mode):
            return _content(path, largest)
    except OSError as error:
        raise cannot(f"read `{path}`", error) from error
    raise _odd(path)


def _content(path: Path, largest: int) -> bytes:
    """Opened so that what took the file's place meanwhile is neither followed nor waited for."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        info = os.fstat(handle)
        if info.st_uid not in users():
            raise UserError(
                f"cannot read `{path}`: it belongs to another user (uid {info.st_uid})", "use the account that owns it"
            )
        if not stat.S_ISREG(info.st_mode):
            raise _odd(path)
        data = file.read(largest + 1)
    if len(data) > largest:
        raise UserError(f"`{path}` is larger than {largest >> 10} KiB", "shorten the file")
    return data


def content(path: Path, largest: int = CODE) -> bytes:
    """The content of a plain file, whoever owns it and through links: for one whose content is then compared."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            is_plain = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            data = file.read(largest + 1) if is_plain else b""
    except OSError as error:
        raise cannot(f"read `{path}`", error) from error
    if not is_plain:
        raise _odd(path)
    if len(data) > largest:
        raise UserError(f"`{path}` is larger than {largest >> 10} KiB", "shorten the file")
    return data


def is_private(path: Path) -> bool:
    """Can nobody else change it?"""
    return not os.lstat(path).st_mode & 0o022


def _odd(path: Path) -> UserError:
    return UserError(
        f"cannot read `{path}`: it is no plain file (a link, a pipe, a device or a folder)",
        "put a plain file there, or remove it",
    )
