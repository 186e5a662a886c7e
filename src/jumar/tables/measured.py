"""Measured constants of chips: rows that `jumar selftest read` wrote from archives of real cards.

They lie in the user's data folder, from the user's own cards, and in `data/measured` of the package, from contributors;
the user's own come first. A file from an emulated machine is never read: it says nothing about a card. The package has
none so far, because nobody has sent an archive of a real card.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from jumar.core import tables

FOLDER = "measured"
REAL = "real card"
"""What a file must say that its machine is."""


class Measured(NamedTuple):
    value: float
    unit: str
    source: str


def user_folder() -> Path:
    """Where the rows of the user's own cards lie."""
    home = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return Path(home) / "jumar" / FOLDER


def constants(soc: str) -> dict[str, Measured]:
    """Measured constants of a chip, such as `matmul_float16`; empty where nobody measured one."""
    found: dict[str, Measured] = {}
    for document in _documents():
        if document["machine"]["soc"] == soc:
            for row in document["constants"]:
                found.setdefault(row["name"], Measured(float(row["value"]), row["unit"], document["source"]))
    return found


def noise(soc: str) -> dict[str, float]:
    """Measured relative errors by case, against float64 on the CPU."""
    found: dict[str, float] = {}
    for document in _documents():
        if document["machine"]["soc"] == soc:
            for row in document.get("noise", ()):
                found.setdefault(row["case"], float(row["relative"]))
    return found


def _documents() -> Iterator[dict[str, Any]]:
    for raw in _texts():
        try:
            document = tables.loads(raw)
            fits = document["machine"]["kind"] == REAL and document["constants"] is not None and document["source"]
        except (ValueError, KeyError, TypeError):  # not a file of ours
            continue
        if fits:
            yield document


def _texts() -> Iterator[bytes]:
    own = user_folder()
    if own.is_dir():
        for path in sorted(own.glob("*.toml"), key=lambda path: -path.stat().st_mtime):
            yield path.read_bytes()
    shared = files("jumar.data").joinpath(FOLDER)
    if shared.is_dir():
        for entry in sorted(shared.iterdir(), key=lambda entry: entry.name):
            if entry.name.endswith(".toml"):
                yield entry.read_bytes()
