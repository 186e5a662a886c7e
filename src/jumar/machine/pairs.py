"""Which CANN a framework belongs to, from the tables of releases: the one place where doctor reads them."""

from __future__ import annotations

import re
from typing import NamedTuple

from packaging.version import InvalidVersion, Version

from jumar.machine.parse.layout import UnknownLayout
from jumar.machine.parse.version_info import key
from jumar.tables import versions
from jumar.tables.load import table


class Row(NamedTuple):
    """A release of a framework with what it was made for."""

    version: str
    cann: str
    python: tuple[str, ...]
    torch: str = ""


def torch_npu(version: str) -> Row | None:
    """The row of exactly this torch_npu."""
    wanted = _version(version)
    for row in versions.releases():
        if wanted is not None and _version(row.torch_npu) == wanted:
            return Row(row.torch_npu, row.cann, row.python, row.torch)
    return None


def torch_npu_for(torch: str) -> str | None:
    """The torch_npu to install beside this torch."""
    row = versions.release_for(torch)
    return row.torch_npu if row else None


def mindspore(version: str) -> Row | None:
    """The row of this MindSpore, or of the release that a patch of it belongs to."""
    try:
        rows = table("mindspore_versions.json")["releases"]
    except FileNotFoundError:
        return None
    wanted = _version(version)
    found = [row for row in rows if wanted is not None and _version(row["mindspore"]) == wanted]
    return Row(found[0]["mindspore"], found[0]["cann"], tuple(found[0]["python"])) if found else None


def compare(installed: str, wanted: str) -> int | None:
    """-1 when the installed CANN is older than the wanted one, 1 when newer, 0 when it fits; None when unknown."""
    if wanted.upper().endswith(".X"):
        start = wanted[:-1].lower()
        if installed.lower().startswith(start):
            return 0
        wanted = f"{wanted[:-1]}0"
    try:
        here, there = key(_plain(installed)), key(_plain(wanted))
    except UnknownLayout:
        return None
    return (here > there) - (here < there)


def _plain(cann: str) -> str:
    """Community editions (`8.0.RC1.beta1`) are the release itself."""
    return re.sub(r"\.beta\d+$", "", cann, flags=re.I)


def _version(text: str) -> Version | None:
    try:
        return Version(Version(text).public)
    except InvalidVersion:
        return None
