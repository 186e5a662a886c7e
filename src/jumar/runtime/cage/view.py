"""What can be seen in the cage: the system's programs, the interpreter with its packages, what the caller adds."""

from __future__ import annotations

import os
import site
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jumar
from jumar.core.errors import UserError
from jumar.runtime import compiled

_HOST = "jumar"
_SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix")
_ETC = ("alternatives", "fonts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "protocols",
        "services", "timezone")  # fmt: skip
"""Of /etc: nothing that says who uses this machine, or how to get into another."""
_SYS = ("/sys/devices/system/cpu", "/sys/devices/system/node")


class View(NamedTuple):
    read: tuple[str, ...]
    """Shown at the same place, read-only."""
    links: tuple[tuple[str, str], ...]
    files: dict[str, str]
    folders: tuple[str, ...]
    """Empty ones to write to."""
    copies: tuple[str, ...]

    def spec(self) -> dict[str, Any]:
        """For `enter.py`: pairs are the place out here and the place inside."""
        return {
            "read": [(os.path.realpath(path), path) for path in self.read], "links": self.links, "files": self.files,
            "folders": self.folders, "copies": [(os.path.realpath(path), path) for path in self.copies],
            "host": _HOST,
        }  # fmt: skip

    def bubblewrap(self, space: int) -> tuple[list[str], list[int], dict[str, Any]]:
        """Options of `bwrap` that show the same, descriptors for them, and what is left to do for `enter.py`."""
        words = [
            "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--as-pid-1",
            "--cap-drop", "ALL", "--hostname", _HOST, "--clearenv", "--proc", "/proc", "--dev", "/dev",
        ]  # fmt: skip
        for target, points_to in self.links:
            words += ["--symlink", points_to, target]
        for folder in (*self.folders, *self.copies):
            words += ["--size", str(space), "--tmpfs", folder]
        originals = [(path, f"/.originals/{number}") for number, path in enumerate(self.copies)]
        for path, place in [*originals, *((path, path) for path in self.read)]:
            words += ["--ro-bind", path, place]
        handed = []
        for path, text in self.files.items():
            handed.append(os.memfd_create(path))
            os.write(handed[-1], text.encode())
            os.lseek(handed[-1], 0, os.SEEK_SET)
            words += ["--ro-bind-data", str(handed[-1]), path]
        return [*words, "--remount-ro", "/"], handed, {"copies": [(place, path) for path, place in originals]}


def build(read: Sequence[str], copies: Sequence[str], home: str) -> View:
    links, system = [], []
    for name in _SYSTEM:
        path = f"/{name}"
        if os.path.islink(path):
            links.append((path, os.readlink(path)))
        elif os.path.isdir(path):
            system.append(path)
    folders = ("/tmp", home, "/dev/shm")
    for path in read:
        if not os.path.exists(path):
            raise UserError(f"`--read {path}`: there is no such file or folder", "check the path")
        if _holds(os.path.realpath(path), (*folders, *copies)):
            raise UserError(f"`--read {path}` shows too much", "name the folder that the project reads, no more")
    wanted = [*(f"/etc/{name}" for name in _ETC), *_SYS, *_interpreter(), *read]
    return View(tuple(_uncovered(system, wanted)), tuple(links), _files(home), folders, tuple(copies))


def _uncovered(system: Sequence[str], wanted: Iterable[str]) -> Iterator[str]:
    """Each path that exists, once, and not below another one."""
    paths = {path for name in wanted for path in (os.path.abspath(name), os.path.realpath(name))}
    shown: list[str] = []
    for path in [*system, *sorted(paths)]:
        if os.path.exists(path) and not any(path == one or path.startswith(f"{one}/") for one in shown):
            shown.append(path)
            yield path


def _interpreter() -> Iterator[str]:
    """Where this Python, its packages, Jumar and what Jumar has built are."""
    users = site.getusersitepackages()
    own = str(Path(jumar.__file__).parent)
    private = (os.path.expanduser("~"), os.getcwd(), tempfile.gettempdir())
    for path in (sys.prefix, sys.base_prefix, os.path.dirname(sys.executable), users, own, *sys.path,
                 str(compiled.cache_dir())):  # fmt: skip
        whole = os.path.abspath(path)
        if path and os.path.exists(whole) and not _holds(whole, private):
            yield whole


def _holds(folder: str, others: Iterable[str]) -> bool:
    """Is one of the others the folder itself, or inside it?"""
    return any(os.path.commonpath([folder, os.path.realpath(other)]) == folder for other in others)


def _files(home: str) -> dict[str, str]:
    user, group = os.getuid(), os.getgid()
    return {
        "/etc/passwd": f"jumar:x:{user}:{group}::{home}:/bin/sh\n",
        "/etc/group": f"jumar:x:{group}:\n",
        "/etc/hosts": f"127.0.0.1 localhost {_HOST}\n::1 localhost\n",
        "/etc/hostname": f"{_HOST}\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
        "/etc/resolv.conf": "",
    }
