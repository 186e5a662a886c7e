"""Links of a project are not written through: whoever wrote the project would choose which file of ours is replaced.

A project is what the caller names, the current folder, or a folder above the file with one of the marks below; the
home folder and what is above it are none, since people link their own places there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from jumar.core.errors import UserError

MARKS = (".git", ".hg", ".svn", "jumar.toml", "pyproject.toml", "setup.py")


def inside(path: str | Path, root: str | Path | None = None) -> Path:
    """The place that a path leads to; refused where a link of the project that it lies in leads out of that project."""
    whole = os.path.abspath(path)
    real = os.path.realpath(whole)
    top = _project(whole, root)
    if top is not None and not _is_below(real, os.path.realpath(top)):
        link = next((one for one in _parts(whole, top) if os.path.islink(one)), whole)
        raise UserError(
            f"`{path}` leads out of the project: `{os.path.relpath(link, top)}` in it is a link to"
            f" `{os.path.realpath(link)}`",
            f"nothing was written to it; if you want that, name the place itself: `{real}`",
        )
    return Path(real)


def open_folder(real: Path) -> int:
    """A descriptor of a folder whose path holds no link: one that appears on the way is an error, not a way."""
    handle = os.open(real.anchor or "/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in real.parts[1:]:
        try:
            below = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=handle)
        finally:
            os.close(handle)
        handle = below
    return handle


def _project(path: str, root: str | Path | None) -> str | None:
    """The largest project that a path lies in."""
    home = os.path.expanduser("~")
    named = [os.path.abspath(root)] if root is not None else []
    marked = (str(up) for up in Path(path).parents if any(os.path.lexists(up / mark) for mark in MARKS))
    found = [top for top in (*named, _current(), *marked) if top and _is_below(path, top) and path != top]
    own = [top for top in found if top in named or not _is_below(home, top)]
    return min(own, key=len, default=None)


def _current() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def _parts(path: str, top: str) -> Iterator[str]:
    at = top
    for part in Path(os.path.relpath(path, top)).parts:
        at = os.path.join(at, part)
        yield at


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")
