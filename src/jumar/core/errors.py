"""The one exception for user mistakes, the exit codes of every command, and what the system's errors mean."""

from __future__ import annotations

import errno
import os
from typing import NamedTuple

EXIT_OK = 0
EXIT_FINDINGS = 1
EXIT_FAILED = 2
EXIT_UNKNOWN = 3


class UserError(Exception):
    """Something the user can put right: shown as `error: message` and `hint: …`, never as a traceback."""

    def __init__(self, message: str, hint: str | None = None, doc: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.doc = doc


class Meaning(NamedTuple):
    """What an error of the operating system says to a user."""

    reason: str
    hint: str


_SPACE = Meaning("no space is left", "free some space, or name a place on another disk")
_PERMISSION = Meaning("no permission", "use an account that may, or name another place")
_LATE = Meaning("no answer in time", "check the address and the network, then try again")
_NO_WAY = Meaning("no network route leads there", "check the address, the network and the proxy settings")
_NO_HOST = Meaning("unknown host name", "check the spelling and the network")
_FILES = Meaning("too many files are open", "raise the limit with `ulimit -n 4096` and try again")
MEANINGS = {
    errno.ENOENT: Meaning("no such file or folder", "check the spelling"),
    errno.EACCES: _PERMISSION,
    errno.EPERM: _PERMISSION,
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EFBIG: Meaning("the file would be too large", "`ulimit -f` shows the limit; name a place without one"),
    errno.ELOOP: Meaning("its symbolic links lead in a circle", "`ls -l` shows where they lead; name the file itself"),
    errno.EISDIR: Meaning("it is a folder", "name a file"),
    errno.ENOTDIR: Meaning("a part of the path is a file, not a folder", "check the path"),
    errno.EEXIST: Meaning("it exists already", "name another place, or remove it first"),
    errno.ENOTEMPTY: Meaning("the folder is not empty", "name another place, or empty it first"),
    errno.ENAMETOOLONG: Meaning("the name is too long", "name a shorter path"),
    errno.EROFS: Meaning("the file system is read-only", "name a place that can be written"),
    errno.EMFILE: _FILES,
    errno.ENFILE: _FILES,
    errno.ETXTBSY: Meaning("it is a program that is running", "stop it first, or name another place"),
    errno.ENXIO: Meaning("it is a pipe or socket that nobody serves", "name a file"),
    errno.EIO: Meaning("the disk reports an error", "the system's log (`dmesg`) says more"),
    errno.ESTALE: Meaning("the network file system lost it", "mount it again, then try again"),
    errno.ENOMEM: Meaning("there is not enough memory", "stop other programs, or use a smaller input"),
    errno.EADDRINUSE: Meaning("another program uses the port", "choose another port"),
    errno.EADDRNOTAVAIL: Meaning("this machine does not have the address", "name an address of this machine"),
    errno.ECONNREFUSED: Meaning("connection refused", "check host and port, and that the server runs"),
    errno.ECONNRESET: Meaning("the other side closed the connection", "try again; the log of the server says more"),
    errno.EPIPE: Meaning("the reader is gone", "try again; its output says why it ended"),
    errno.ETIMEDOUT: _LATE,
    errno.ENETUNREACH: _NO_WAY,
    errno.EHOSTUNREACH: _NO_WAY,
    errno.ENOEXEC: Meaning("it is not a program that this machine can run", "`file` shows what it is made for"),
    errno.E2BIG: Meaning("the command line is too long", "name a folder instead of its files"),
    errno.EBUSY: Meaning("something else uses it", "end what uses it (`fuser` shows it), then try again"),
    errno.EINVAL: Meaning("the file system does not accept the name or the operation", "name another place"),
    errno.EILSEQ: Meaning("the file system does not accept the name", "name another path"),
    errno.EXDEV: Meaning("it lies on another file system", "name a place on the same disk"),
    errno.EMLINK: Meaning("it has too many links", "name another place"),
    errno.ENODEV: Meaning("the device is not there", "check the path"),
    errno.ENODATA: Meaning("the disk reports an error", "the system's log (`dmesg`) says more"),
    errno.EOVERFLOW: Meaning("the file is too large for this system", "use a smaller file"),
}
"""The errors that a user meets; all others keep the words of the system."""
_ONLY_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def meaning(error: OSError) -> Meaning:
    """Why it failed and what to do, in the same words for every command."""
    inner = getattr(error, "reason", None)
    if isinstance(inner, OSError):  # urllib packs the error of the system into its own
        return meaning(inner)
    if (error.errno or 0) < 0:  # socket.gaierror, the only one with such numbers
        return _NO_HOST
    if isinstance(error, TimeoutError):
        return _LATE
    known = MEANINGS.get(error.errno or 0)
    return known or Meaning(_lower(error.strerror or str(error) or type(error).__name__), "check the path")


def reason(error: Exception) -> str:
    """Why it failed, where errors of the system and others are caught together."""
    if isinstance(error, OSError):
        return meaning(error).reason
    return str(error) or type(error).__name__


def cannot(doing: str, error: OSError, note: str | None = None) -> UserError:
    """`cannot read …: why`, with what to do; `note` is what only this command knows."""
    known = meaning(error)
    return UserError(f"cannot {doing}: {known.reason}", f"{known.hint}; {note}" if note else known.hint)


def from_os(error: OSError) -> UserError:
    """The message for an error of the system that no feature has put into words."""
    reason, hint = meaning(error)
    if error.filename is not None:
        return UserError(f"cannot use `{_name(error.filename)}`: {reason}", hint)
    if isinstance(error, FileNotFoundError) and not _has_folder():
        return UserError("the current folder no longer exists", "change to one that exists, such as `cd ~`")
    doing = "cannot write" if error.errno in _ONLY_WRITING else "the system refused"
    return UserError(f"{doing}: {reason}", hint)


def _name(name: object) -> str:
    return os.fsdecode(name) if isinstance(name, (str, bytes, os.PathLike)) else str(name)


def _has_folder() -> bool:
    try:
        return bool(os.getcwd())
    except OSError:
        return False


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
