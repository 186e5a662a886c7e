"""CANN releases: their order, the driver kit that belongs to each, addresses of packages and tags of public images."""

from __future__ import annotations

import re
from dataclasses import field
from functools import cache
from typing import Any

from jumar.core.compat import dataclass
from jumar.tables.load import table

_PART = re.compile(r"(alpha|beta|rc|spc)\.?(\d+)|(\d+)")
_ORDER = {"alpha": 0, "beta": 1, "rc": 2, "": 4, "spc": 5}
_END = (3, 0)
YEAR = 20
"""Releases of 2020 were numbered by year: 20.2 came before 5.0."""


@cache
def key(version: str) -> tuple[tuple[int, int], ...]:
    """Sorts CANN and driver versions: 8.0.RC1.alpha001 < 8.0.RC1 < 8.0.0 < 8.0.0.1, and 20.2 before 5.0."""
    found = [(_ORDER[word], int(number or plain)) for word, number, plain in _PART.findall(version.lower())]
    if found and found[0][1] >= YEAR:
        found.insert(0, (_ORDER[""], 0))
    return (*found, _END)


@cache
def driver_key(version: str) -> tuple[tuple[int, int], ...]:
    """Sorts driver kits: 5.1 and 6.0 came between 22.0.0 and 23.0."""
    found = [(_ORDER[word], int(number or plain)) for word, number, plain in _PART.findall(version.lower())]
    if found and found[0][1] < YEAR:
        found[:1] = [(_ORDER[""], 22), (_ORDER["spc"], found[0][1])]
    return (*found, _END)


@dataclass(frozen=True, slots=True)
class Kit:
    """The driver and firmware kit of a CANN release."""

    cann: str
    hdk: str | None
    confidence: str
    source: str
    solution: str | None
    products: dict[str, str] = field(default_factory=dict, hash=False)
    """Kits that are numbered per product (950)."""


@cache
def kits() -> dict[str, Kit]:
    """By CANN release."""
    return {row["cann"]: _kit(row) for row in table("cann.json")["kits"]}


@cache
def kit_for(cann: str) -> Kit | None:
    """The kit of a release; for patches and previews that of the release they belong to, with less confidence."""
    rows = kits()
    if cann in rows:
        return rows[cann]
    near = [row for name, row in rows.items() if row.hdk and (_base(name) == _base(cann))]
    if not near:
        return None
    row = max(near, key=lambda row: key(row.cann))
    return Kit(cann, row.hdk, "medium", f"the pair of CANN {row.cann}: {row.source}", row.solution, row.products)


@dataclass(frozen=True, slots=True)
class Drivers:
    """The drivers that the vendor names for a CANN release; `25.2.X` is every one of that series."""

    cann: str
    fits: tuple[str, ...]
    does_not: tuple[str, ...]
    whole: bool
    """CANN's own list: a driver older than all of it does not fit."""
    source: str


@cache
def drivers_for(cann: str) -> Drivers | None:
    """The vendor's list for a final release, if a public page has one."""
    for row in table("driver_support.toml")["drivers"]:
        if in_series(cann, row["cann"]) and not re.search(r"alpha|beta", cann, re.I):
            return Drivers(row["cann"], tuple(row["fits"]), tuple(row.get("does_not", ())), row["whole"], row["source"])
    return None


def in_series(version: str, pattern: str) -> bool:
    """Is it the one that is named, a patch of it, or one of `25.2.X`?"""
    start = pattern.lower().removesuffix("x").removesuffix(".")
    return version.lower() == start or version.lower().startswith(f"{start}.")


def firmware_for(hdk: str, chip: str) -> str | None:
    """The number of the firmware package that was seen with a driver kit."""
    rows = table("cann.json")["firmware"]
    return next((row["firmware"] for row in rows if (row["hdk"].lower(), row["chip"]) == (hdk.lower(), chip)), None)


@cache
def known() -> tuple[str, ...]:
    """Every CANN release of the tables, oldest first."""
    from jumar.tables import mindspore_versions, versions

    names = {row.cann for row in versions.releases()} | {row.cann for row in mindspore_versions.releases()}
    names |= set(kits()) | {row["cann"] for row in table("cann.json")["packages"]}
    return tuple(sorted((name for name in names if not name.endswith(".X")), key=key))


def find(wanted: str) -> str | None:
    """The release that a spelling means: `8.0.rc1`, `CANN 8.0.RC1`, or a community edition such as `8.0.RC1.beta1`."""
    plain = re.sub(r"^cann[ _-]*", "", wanted.strip().lower())
    community = {row["name"].lower(): row["cann"] for row in table("cann.json")["community"]}
    if plain in community:
        return str(community[plain])
    return next((name for name in known() if name.lower() == plain), None)


def within(pattern: str) -> tuple[str, ...]:
    """The final releases that `9.1.X` of a release note stands for; any other name stands for itself."""
    if not pattern.endswith(".X"):
        return (pattern,)
    return tuple(name for name in known() if re.fullmatch(re.escape(pattern[:-1]) + r"\d+", name))


def address(cann: str, kind: str, chip: str = "") -> str | None:
    """The address of a package from the vendor's own image recipes; `{arch}` is still in it."""
    for row in table("cann.json")["packages"]:
        if (row["cann"], row["kind"], row.get("chip", "").lower()) == (cann, kind, chip.lower()):
            return str(row["url"])
    return None


def old_packages(cann: str) -> list[dict[str, Any]]:
    """Toolkit and driver archives of releases up to 6.0.1, or of the patch that stands in for this release."""
    rows: list[dict[str, Any]] = table("cann.json")["old_packages"]
    names = {row["cann"] for row in rows if _base(row["cann"]) == _base(cann)}
    best = cann if cann in names else max(names, key=key, default=None)
    return [row for row in rows if row["cann"] == best]


@cache
def images() -> dict[str, str]:
    """Tags of the public CANN images by their lower-case form."""
    return {tag.lower(): tag for tag in table("cann.json")["images"]}


def image(cann: str, chip: str, systems: tuple[str, ...], python: str) -> str | None:
    """The tag of a public image with these versions, of the first system that has one (`ubuntu22.04`)."""
    tags = (f"{cann}-{chip}-{system}-py{python}".lower() for system in systems)
    return next((images()[tag] for tag in tags if tag in images()), None)


def _kit(row: dict[str, Any]) -> Kit:
    solution = row.get("training_solution") or row.get("data_center_solution")
    return Kit(row["cann"], row.get("hdk"), row["confidence"], row["source"], solution, row.get("hdk_950", {}))


def _base(version: str) -> tuple[str, ...]:
    """The release that patches and previews belong to: 5.0.3.1 and 5.0.3, 8.5.1 and 8.5.0, 8.3.RC2 and 8.3.RC1."""
    words = version.lower().replace("-", ".").split(".")
    return tuple(words[:3] if int(words[0]) < 7 else words[:2])
