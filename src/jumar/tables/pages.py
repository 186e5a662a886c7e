"""The pages about rules and findings, from `docs/` and, in an installed package, in `jumar/pages`."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from jumar.core.compat import Traversable, pairwise
from jumar.core.lang import ENGLISH
from jumar.tables.load import table

SITE = "https://jumar-project.github.io/jumar/"
"""Where the site is published: RELEASING.md says what else names it. Not confirmed before the first release."""
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
    for area, text in [*_texts(_folder("rules", "pages"), ""), *_findings()]:
        title = _TITLE.match(text)
        if title is not None:
            found[title[1]] = Page(title[1], title[2], area, text)
    return dict(sorted(found.items()))


def address(id_: str, language: str = ENGLISH) -> str:
    """The page on the site of a rule, finding or known error; it stays the same for ever, as ids do."""
    return f"{SITE}{'' if language == ENGLISH else f'{language}/'}explain/{id_}/"


def renamed() -> dict[str, str]:
    """Ids that became other ids."""
    ids: dict[str, str] = table("renamed_ids.toml")["ids"]
    return ids


def _findings() -> list[tuple[str, str]]:
    """The sections about findings: a page of an area holds one for each id."""
    found = []
    for area, text in _texts(_folder("findings", "findings"), ""):
        name = text.partition("\n")[0].removeprefix("# Findings of ").strip("`").removeprefix("jumar ")
        starts = [match.start() for match in re.finditer(r"^## [A-Z]{2}\d{3} ", text, re.M)]
        found += [(area or name, text[at:end].rstrip() + "\n") for at, end in pairwise([*starts, len(text)])]
    return found


def _folder(folder: str, installed_as: str) -> Traversable:
    installed = files("jumar").joinpath(installed_as)
    if installed.is_dir():
        return installed
    return Path(__file__).parents[3] / "docs" / folder


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
