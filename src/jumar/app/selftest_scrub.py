"""What must not leave the machine with an archive: names of users and hosts, addresses, serial numbers, paths."""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import socket
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

_PATH = re.compile(r"(?<![\w.<])/(?:[\w.+@%~-]+/)*[\w.+@%~-]*[\w+@%~-](?=$|[^\w/])")
_KEPT = re.compile(
    r"^/(?:dev/davinci\w*|usr/local/(?:Ascend|npu)(?:/(?:driver|firmware|ascend-toolkit|cann|latest))*)$"
)
_SERIAL = re.compile(r"(?i)\b(serial(?: number| no\.?)?|die[ _]id|sn|uuid)(\s*[:=]\s*)(?=\S*\d)[\w-]+")
_UUID = re.compile(r"(?i)\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b")
_BUS = re.compile(r"\b[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]\b")


def scrubber(environ: Mapping[str, str], places: Iterable[Path]) -> Callable[[str], str]:
    """A function over texts, made from what this machine calls itself."""
    from jumar.machine import share
    from jumar.machine.host import Host
    from jumar.machine.probe.local import Local

    shared = share.scrubber(Host(Local(dict(environ)), None, 15.0), _hosts())
    users = sorted(_users(environ), key=len, reverse=True)
    own = sorted(
        {str(place) for place in places} | {sys.prefix, os.path.expanduser("~")} - {"/", "~"}, key=len, reverse=True
    )

    def scrub(text: str) -> str:
        text = _UUID.sub("<id>", _SERIAL.sub(r"\1\2<serial>", text))
        for place in own:
            text = text.replace(place, "<path>")
        text = _PATH.sub(_path, _BUS.sub("<bus>", shared(text)))
        for user in users:
            text = re.sub(rf"(?<![\w-]){re.escape(user)}(?![\w-])", "<user>", text)
        return text

    return scrub


def _path(match: re.Match[str]) -> str:
    """A path by its last part: that is of CANN or of a package, what stands before it is the user's."""
    path = match[0]
    if _KEPT.match(path) or path.count("/") < 2:
        return path
    for mark in ("site-packages/", "Ascend/"):
        if mark in path:
            return f"<path>/{path.partition(mark)[2]}"
    return f"<path>/{path.rpartition('/')[2]}" if path.endswith((".so", ".py", ".cpp", ".h")) else "<path>"


def _hosts() -> list[str]:
    name = socket.gethostname()
    return sorted({name, name.partition(".")[0]} - {"", "localhost"})


def _users(environ: Mapping[str, str]) -> set[str]:
    found = {environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER")}
    with contextlib.suppress(KeyError, OSError):  # an account without a name
        found.add(getpass.getuser())
    return {name for name in found if len(name) > 1 and name not in ("root", "HwHiAiUser")}
