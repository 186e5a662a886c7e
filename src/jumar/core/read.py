"""Reading what a stranger may have written: what never begins or ends is refused, and so is what grows without end."""

from __future__ import annotations

import json
import os
import stat
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from jumar.core.errors import UserError, cannot, reason

if TYPE_CHECKING:
    from zipfile import ZipFile

MOST = 1 << 30
"""Bytes of a file that is read whole."""
RATIO, FREE = 300, 1 << 28
"""A packed file may unpack to so many times its size, and to so many bytes in any case; text reaches 10 to 50."""
_BLOCK = 1 << 20
_OPEN_ALREADY = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")
"""What the shell opened for us, such as `<(command)`: it has a writer."""


def content(path: str | Path, hint: str | None = None, most: int = MOST) -> bytes:
    """All bytes of a file; `hint` says what to do where the system's error tells nothing better."""
    try:
        with opened(path) as file:
            data = _bounded(file, most)
    except OSError as error:
        raise cannot(f"read `{path}`", error, hint) from error
    if len(data) > most:
        raise UserError(f"`{path}` is larger than {most >> 20} MiB", "name a smaller file")
    return data


def _bounded(file: BinaryIO, most: int) -> bytes:
    """All of it, or a little more than `most`; a limit given to `read` would be reserved as memory."""
    size = os.fstat(file.fileno()).st_size
    if 0 < size <= most:
        return file.read(size)
    parts, total = [], 0
    while total <= most and (part := file.read(_BLOCK)):
        parts.append(part)
        total += len(part)
    return b"".join(parts)


def opened(path: str | Path) -> BinaryIO:
    """A file to read from. A pipe that nobody writes to is not waited for; errors of the system pass."""
    check(path)
    if os.fspath(path).startswith(_OPEN_ALREADY):
        return open(path, "rb")
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        _check(os.fstat(handle).st_mode, path)  # it may be another one by now
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def check(path: str | Path) -> None:
    """Refuse what never ends or never begins; errors of the system pass."""
    if not os.fspath(path).startswith(_OPEN_ALREADY):
        _check(os.stat(path).st_mode, path)


def decoded(data: bytes | str) -> Any:
    """A JSON text; what is nested too deeply is a ValueError, as everything else that is wrong with one."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def unpacked(archive: ZipFile, name: str, most: int = MOST) -> bytes:
    """A member of an archive by its bytes, whatever its header says; ValueError tells what is wrong with it."""
    try:
        with archive.open(name) as member:
            data = member.read(most + 1)
    except (KeyError, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise ValueError(f"`{name}` in it cannot be read: {reason(error)}") from error
    except zlib.error as error:
        raise ValueError(f"`{name}` in it is damaged: {error}") from error
    if len(data) > most:
        raise ValueError(f"`{name}` in it is larger than {most >> 20} MiB")
    return data


def is_bomb(packed: int, unpacked: int) -> bool:
    """Does it unpack to more than any text or model does?"""
    return unpacked > max(FREE, RATIO * packed)


def _check(mode: int, path: str | Path) -> None:
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or os.fspath(path) == os.devnull:
        return
    kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    kind = kinds.get(stat.S_IFMT(mode), "a device")
    raise UserError(f"`{path}` is {kind}, not a file", "write its content to a file, and name that")
