"""What the user trusts: project folders with the content of their files, and hosts that keys may be sent to.

One file in the user's configuration folder, which only the user can change. A trusted folder is one whose
`jumar.toml` has the content that was trusted; a file of code that it names counts with its own content.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jumar.core import write
from jumar.core.errors import UserError, cannot
from jumar.runtime import home, owned

FILE = "trust.json"
LARGEST = 16 << 20
VERSION = 1


class Entry(NamedTuple):
    """A folder that is trusted."""

    settings: str
    """Hash of its `jumar.toml`."""
    files: Mapping[str, str]
    """Hashes of the files of code that it names, by absolute path."""
    date: str


class Trusted(NamedTuple):
    folders: dict[str, Entry]
    hosts: dict[str, str]
    """Dates by host."""


def path() -> Path:
    return home.config() / FILE


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read() -> Trusted:
    """What was recorded; nothing where there is no file. One that others can change is refused."""
    place = path()
    if not os.path.lexists(place):
        return Trusted({}, {})
    for one in (place.parent, place):
        if not owned.is_own(one) or not owned.is_private(one):
            raise UserError(f"others can change `{one}`", f"chmod go-w {shlex.quote(str(one))}")
    try:
        whole = json.loads(owned.read(place, LARGEST))
        return _decode(whole)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise UserError(f"`{place}` is not a list of what is trusted", "remove it, and trust folders anew") from None


def entry(folder: Path) -> Entry | None:
    """What was recorded of a folder."""
    return read().folders.get(name_of(folder))


def name_of(folder: Path) -> str:
    """The folder as it is recorded: links in its path are followed."""
    return os.path.realpath(folder)


def add_folder(folder: Path, settings: bytes, files: Mapping[str, bytes]) -> Entry:
    """Record a folder with the content that was shown."""
    made = Entry(digest(settings), {name: digest(data) for name, data in files.items()}, _today())
    with _changed() as trusted:
        trusted.folders[name_of(folder)] = made
    return made


def remove_folder(folder: Path) -> bool:
    """Forget a folder; was it known?"""
    with _changed() as trusted:
        return trusted.folders.pop(name_of(folder), None) is not None


def add_host(host: str) -> None:
    with _changed() as trusted:
        trusted.hosts[host] = _today()


def remove_host(host: str) -> bool:
    with _changed() as trusted:
        return trusted.hosts.pop(host, None) is not None


def command(folder: Path | str) -> str:
    """The command that trusts a folder, to be pasted into a shell."""
    return f"jumar trust {quoted(str(folder))}"


def quoted(text: str) -> str:
    """One word for a POSIX shell, on one line; bash and zsh read the form for odd characters."""
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(_escaped(byte) for byte in os.fsencode(text)) + "'"


def _escaped(byte: int) -> str:
    plain = 0x20 <= byte < 0x7F and byte not in b"'\\"
    return chr(byte) if plain else f"\\x{byte:02x}"


@contextlib.contextmanager
def _changed() -> Iterator[Trusted]:
    """What is recorded, to be changed by the block: one process at a time, written at once or not at all."""
    import fcntl

    place = path()
    write.make_folder(place.parent, mode=0o700)
    try:
        lock = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise cannot(f"open `{place.parent}`", error) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        trusted = read()
        yield trusted
        write.replace(place, _encode(trusted), mode=0o600)
    finally:
        os.close(lock)


def _encode(trusted: Trusted) -> bytes:
    folders = {
        name: {"settings": one.settings, "files": dict(one.files), "date": one.date}
        for name, one in sorted(trusted.folders.items())
    }
    whole = {"jumar_trust": VERSION, "folders": folders, "hosts": dict(sorted(trusted.hosts.items()))}
    return (json.dumps(whole, indent=1) + "\n").encode()


def _decode(whole: dict[str, Any]) -> Trusted:
    if whole["jumar_trust"] != VERSION:
        raise ValueError
    folders = {
        str(name): Entry(
            str(row["settings"]), {str(one): str(sha) for one, sha in row["files"].items()}, str(row["date"])
        )
        for name, row in whole["folders"].items()
    }
    return Trusted(folders, {str(host): str(date) for host, date in whole["hosts"].items()})


def _today() -> str:
    return time.strftime("%Y-%m-%d")
