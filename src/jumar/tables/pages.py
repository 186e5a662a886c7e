"""The pages about rules and findings, as they stand in `docs/` and, in an installed package, in `jumar/pages`."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple

from jumar.tables.load import table

_TITLE = re.compile(r"#+ ([A-Z]{2}\d{3}) ([a-z0-9-]+)")


class Page(NamedTuple):
    id: str
    name: str
    area: str
    """The folder it lies in: `python`, `shell`, …"""
    text: str


@cache
def pages() -> dict[str, Page]:
    """Every page whose title is an id and a name, by id."""
    found = {}
    for area, text in _texts(_root(), ""):
        title = _TITLE.match(text)
        if title is not None:
            found[title[1]] = Page(title[1], title[2], area, text)
    return dict(sorted(found.items()))


def renamed() -> dict[str, str]:
    """Ids that became other ids."""
    ids: dict[str, str] = table("renamed_ids.toml")["ids"]
    return ids


def _root() -> Traversable:
    installed = files("jumar").joinpath("pages")
    if installed.is_dir():
        return installed
    return Path(__file__).parents[3] / "docs" / "rules"


def _texts(folder: Traversable, area: str) -> list[tuple[str, str]]:
    if not folder.is_dir():
        return []
    found = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            found += _texts(entry, entry.name)
        elif entry.name.endswith(".md"):
            found.append((area, entry.read_text(encoding="utf-8")))
    return found
