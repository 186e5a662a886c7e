"""Libraries that a wheel of Jumar brings along, each for one release of torch, and whether one fits the installed one.

`index.json` beside them is written by tools/prebuilt.py. Jumar that was built from its sources has none.
"""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "prebuilt"
INDEX = "index.json"
_OTHER = re.compile(rb"//[^\n]*|/\*.*?\*/|^[ \t]*#[ \t]*include[^\n]*", re.S | re.M)
"""Comments, and where a header looks for others."""


class Row(NamedTuple):
    """A library and what it was built of."""

    file: str
    library: str
    """Its name where it is built on the user's machine."""
    machine: str
    torch: str
    string_abi: str
    """The compiler's word for the std::string of torch."""
    sources: str
    """The digest of Jumar's own sources."""
    torch_npu: str = ""
    headers: tuple[str, ...] = ()
    """Headers of torch_npu that declare what it uses. Releases in which they declare the same take the same library."""
    headers_digest: str = ""


class Wanted(NamedTuple):
    """What a library has to fit."""

    library: str
    torch: str
    string_abi: str
    sources: str


@functools.cache
def rows() -> tuple[Row, ...]:
    try:
        text = (FOLDER / INDEX).read_text(encoding="utf-8")
    except OSError:
        return ()
    return tuple(Row(**{**row, "headers": tuple(row.get("headers", ()))}) for row in json.loads(text))


def find(wanted: Wanted, headers_at: Path | None) -> Path | None:
    """The file that fits; its headers of torch_npu are looked for in `headers_at`."""
    exact = (wanted.library, platform.machine(), wanted.torch.split("+")[0], wanted.string_abi, wanted.sources)
    for row in rows():
        if exact != (row.library, row.machine, row.torch, row.string_abi, row.sources):
            continue
        if not row.headers or (headers_at and digest_of(headers_at, row.headers) == row.headers_digest):
            return FOLDER / row.file
    return None


def digest(contents: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for content in contents:
        found.update(len(content).to_bytes(8, "little") + content)
    return found.hexdigest()[:16]


def digest_of(folder: Path, names: Iterable[str]) -> str:
    """Of what headers in a folder declare, their own words alone; empty if one of them is not there."""
    try:
        return digest(b" ".join(_OTHER.sub(b"", (folder / name).read_bytes()).split()) for name in names)
    except OSError:
        return ""
