"""Object keys as paths below a folder, and back: any key gets a path, and no path leaves the folder.

A key is a string, a file system is not: `a` and `a/b` may both be objects, `..` and empty names are allowed, names may
be longer than 255 bytes. Ordinary keys keep their names, so that the folder can be looked at.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from jumar.core.errors import UserError

FOLDER = "%folder"
"""The object whose key ends in `/`: a marker that consoles show as a folder."""
EMPTY = "%empty"
ASIDE = "%file"
"""End of the name of an object that shares its name with a folder."""
MORE = "%more"
"""End of a folder's name that is only the first part of a long name."""
LONGEST_NAME = 200
LONGEST_KEY = 1024
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")
_ESCAPED = re.compile('[%\x00-\x1f\x7f\\\\:*?"<>|]')


@functools.lru_cache(maxsize=256)
def check_bucket(name: str) -> str:
    """A bucket's name, as OBS allows it."""
    if not _BUCKET.fullmatch(name) or ".." in name or ".-" in name or "-." in name or _ADDRESS.fullmatch(name):
        raise UserError(
            f"not a bucket name: `{name}`",
            "3 to 63 lower-case letters, digits, `-` and `.`; a letter or digit first and last",
        )
    return name


def is_key(key: str) -> bool:
    """Whether a key can be stored at all."""
    try:
        return 0 < len(key.encode()) <= LONGEST_KEY and "\x00" not in key
    except UnicodeEncodeError:
        return False


def to_path(key: str) -> str:
    """The relative path of a key."""
    names = key.split("/")
    last = names.pop()
    folders = [part for name in names for part in _folder_names(name)]
    if not last:
        return "/".join([*folders, FOLDER])
    *rest, end = _pieces(last)
    return "/".join([*folders, *(piece + MORE for piece in rest), end])


def folder_path(prefix: str) -> str:
    """The folder of all keys that begin with a prefix that ends in `/`."""
    return "/".join(part for name in prefix.split("/")[:-1] for part in _folder_names(name))


def file_name(name: str) -> str:
    """The last part of a key, from the name of its file; `None`-like names never come here."""
    return "" if name == FOLDER else unescape(name.removesuffix(ASIDE))


def folder_name(name: str) -> str:
    """What a folder adds to a key, with the `/` unless a longer name goes on below it."""
    if name == EMPTY:
        return "/"
    return unescape(name.removesuffix(MORE)) if name.endswith(MORE) else unescape(name) + "/"


def escape(name: str) -> str:
    """One name as a file system takes it: only what would mean something else is changed."""
    plain = _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", name)
    return "%2E" * len(plain) if plain in (".", "..") else plain


def unescape(name: str) -> str:
    return re.sub("%([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), name)


def _folder_names(name: str) -> Iterator[str]:
    if not name:
        yield EMPTY
        return
    *rest, end = _pieces(name)
    yield from (piece + MORE for piece in rest)
    yield end


def _pieces(name: str) -> list[str]:
    """A name in pieces that are short enough for a file system, cut between characters."""
    if len(name) <= LONGEST_NAME // 4 and not _ESCAPED.search(name) and name not in (".", ".."):
        return [name]
    pieces, piece, size = [], "", 0
    for letter in name:
        width = len(escape(letter).encode())
        if size + width > LONGEST_NAME:
            pieces.append(escape(piece))
            piece, size = "", 0
        piece += letter
        size += width
    return [*pieces, escape(piece)]
