"""Atomic writing: after a crash or a full disk a file is the old one or the new one, and no empty folder stays."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from jumar.core import links
from jumar.core.errors import cannot


def replace(path: Path, data: bytes, root: str | Path | None = None, mode: int | None = None) -> None:
    """Write `data` to `path` at once; a symbolic link stays and its target is replaced.

    A link that leads out of the project (`root`, or what `links` takes for one) is refused. Mode bits stay as they are,
    unless `mode` gives others.
    """
    target = links.inside(path, root)
    try:
        old = os.stat(path).st_mode if os.path.lexists(path) and not _dangles(path) else None
        if old is None or stat.S_ISREG(old):
            _replace(target, data, old if mode is None else mode)
        else:
            _put_into(path, data)
    except OSError as error:
        raise cannot(f"write `{path}`", error, "the file is unchanged" if os.path.isfile(path) else None) from error


def make_folder(folder: Path, note: str | None = None, mode: int = 0o777, root: str | Path | None = None) -> None:
    """Make a folder and those above it that are missing; `note` is what only the command knows."""
    links.inside(folder, root)
    try:
        try:
            folder.mkdir(mode, parents=True, exist_ok=True)
        except FileExistsError:
            # Something is there that is no folder: a link in a circle says so itself.
            os.stat(folder)
            raise NotADirectoryError(errno.ENOTDIR, "", str(folder)) from None
    except OSError as error:
        raise cannot(f"make the folder `{folder}`", error, note) from error


@contextlib.contextmanager
def inside(folder: Path, note: str | None = None, mode: int = 0o777, root: str | Path | None = None) -> Iterator[None]:
    """Make a folder for what the block writes; those that the block leaves empty when it fails are removed again."""
    new = [one for one in (folder, *folder.parents) if not os.path.lexists(one)]
    make_folder(folder, note, mode, root)
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for one in new:
                one.rmdir()
        raise


def _dangles(path: Path) -> bool:
    """Is it a link to something that is not there yet?"""
    try:
        os.stat(path)
    except FileNotFoundError:
        return True
    return False


def _replace(target: Path, data: bytes, mode: int | None) -> None:
    """Everything below the folder goes through its descriptor: a link put in the way meanwhile has no effect."""
    os.stat(target.parent)  # says what is wrong with a path that leads nowhere, such as a circle of links
    folder = links.open_folder(target.parent)
    name = f".{target.name[:100]}.{os.urandom(6).hex()}.jumar"
    try:
        handle = os.open(
            name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder
        )
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                os.fchmod(file.fileno(), stat.S_IMODE(mode) if mode is not None else 0o666 & ~_umask())
            os.replace(name, target.name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            os.unlink(name, dir_fd=folder)
            raise
    finally:
        os.close(folder)


def _put_into(path: Path, data: bytes) -> None:
    """A device or a pipe takes the bytes and stays what it is; one that nobody reads from is not waited for."""
    with open(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "wb") as file:
        os.set_blocking(file.fileno(), True)
        file.write(data)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
