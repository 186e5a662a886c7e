"""Caches that hold code: what is loaded from them was written by this user, and is what was built.

Whoever may write a library or a program of ours could run code as us. The folder and all above it have to belong to
this user or to root, and none may be open to everybody; the library is an ordinary file that nobody else may write,
with the digest that was kept when it was built.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import stat
from pathlib import Path

from jumar.core.errors import UserError, cannot

CACHE_NOTE = "`JUMAR_CACHE` or `XDG_CACHE_HOME` names another folder for the cache"
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def folder(path: Path, top: Path) -> None:
    """Make a folder below `top`, the cache, that this user alone may write.

    One of another user is refused; one of ours that was open to others is closed, and what is in it is made anew.
    """
    try:
        whole, cache = (os.path.realpath(place) for place in (path, top))
        _check(cache)
        if not os.path.isdir(whole) or _close(whole, cache):
            shutil.rmtree(whole, ignore_errors=True)
            for up in reversed([up for up in (path, *path.parents) if not os.path.lexists(up)]):
                up.mkdir(0o700, exist_ok=True)
    except OSError as error:
        raise cannot(f"use the cache `{path}`", error, CACHE_NOTE) from error


def seal(file: Path) -> None:
    """Keep the digest of a library that was just built, and close it to others."""
    os.chmod(file, stat.S_IMODE(file.stat().st_mode) & ~_OTHERS)
    record = _record(file)
    record.write_text(f"{_digest(file)}\n", encoding="ascii")
    os.chmod(record, 0o600)


def is_sound(file: Path) -> bool:
    """Is it there, ours, closed to others, and what was built?"""
    try:
        about = os.lstat(file)
        return _is_sound(str(file), about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
    except OSError:
        return False


@functools.lru_cache(maxsize=64)
def _is_sound(name: str, *_: int) -> bool:
    file = Path(name)
    if not all(map(_is_own, (file, _record(file)))):
        return False
    return _record(file).read_text(encoding="ascii").strip() == _digest(file)


def _is_own(file: Path) -> bool:
    about = os.lstat(file)
    return stat.S_ISREG(about.st_mode) and about.st_uid in _trusted() and not about.st_mode & _OTHERS


def _record(file: Path) -> Path:
    return file.with_name(f"{file.name}.sha256")


def _digest(file: Path) -> str:
    found = hashlib.sha256()
    with open(file, "rb", buffering=0) as opened:
        while part := opened.read(1 << 20):
            found.update(part)
    return found.hexdigest()


@functools.lru_cache(maxsize=8)
def _check(cache: str) -> None:
    """Refuse a place that others own or everybody may write. A group may: the user knows whose it is.

    Sticky folders such as `/tmp` are open to everybody, but what lies in them is not.
    """
    for place in (cache, *map(str, Path(cache).parents)):
        try:
            about = os.stat(place)
        except FileNotFoundError:
            continue
        if about.st_uid not in _trusted():
            raise UserError(f"the cache `{cache}` is not safe: `{place}` belongs to another user", CACHE_NOTE)
        if place != cache and about.st_mode & stat.S_IWOTH and not about.st_mode & stat.S_ISVTX:
            hint = f"`chmod o-w {place}`; {CACHE_NOTE}"
            raise UserError(f"the cache `{cache}` is not safe: everybody may write to `{place}`", hint)


def _close(path: str, cache: str) -> bool:
    """Take the others' right to write from the folders of the cache down to this one; did they have it?"""
    was_open = False
    for place in (path, *map(str, Path(path).parents)):
        about = os.stat(place)
        if about.st_uid not in _trusted():
            raise UserError(f"the cache `{cache}` is not safe: `{place}` belongs to another user", CACHE_NOTE)
        if about.st_mode & _OTHERS:
            os.chmod(place, stat.S_IMODE(about.st_mode) & ~_OTHERS)
            was_open = True
        if place == cache:
            break
    return was_open


@functools.lru_cache(maxsize=1)
def _trusted() -> frozenset[int]:
    """This user, and root, who has another number inside a user namespace."""
    return frozenset({os.geteuid(), 0, os.stat("/").st_uid})
