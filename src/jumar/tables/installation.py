"""How an Ascend machine is set up: families in package names, file names, places, prerequisites and systems."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jumar.core.compat import dataclass
from jumar.tables import cann as releases
from jumar.tables import chips
from jumar.tables.load import table


@dataclass(frozen=True, slots=True)
class Family:
    """A chip family as packages know it."""

    name: str
    pci: str
    ops: str
    hdk: str
    arch: tuple[str, ...]
    first: str
    """The first CANN for it."""
    mindspore: str
    """The first MindSpore for it."""
    confidence: str
    source: str
    names: tuple[str, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class System:
    name: str
    id: str
    manager: str
    """`apt` or `yum`."""
    glibc: str | None = None
    image: str | None = None
    mindspore: str | None = None

    @property
    def release(self) -> str:
        return self.name.rpartition(" ")[2]


@cache
def families() -> dict[str, Family]:
    rows = table("installation.toml")["families"]
    lists = ("arch", "names")
    return {name: Family(name, **{**row, **{key: tuple(row[key]) for key in lists}}) for name, row in rows.items()}


@cache
def systems() -> dict[str, System]:
    return {name: System(name, **row) for name, row in table("installation.toml")["systems"].items()}


def find_system(wanted: str) -> System | None:
    """The system that a spelling means: `openEuler22.03`, `ubuntu-22.04`, `Ubuntu 22.04.4 LTS`."""
    plain = _plain(wanted)
    for name, system in systems().items():
        if re.fullmatch(re.escape(_plain(name)) + r"(\.\d+)*(lts|sp\d|ltssp\d)*", plain):
            return system
    rough = [system for name, system in systems().items() if _plain(name).startswith(f"{plain}.")]
    return rough[0] if len(rough) == 1 and plain[-1:].isdigit() else None


def find_family(wanted: str) -> str | None:
    """The family that a chip, a family or a product name means; None for unknown names."""
    chip = chips.find(wanted)
    if chip is not None:
        return chips.chips()[chip]
    plain = _plain(wanted.lower().removeprefix("ascend"))
    for name, family in families().items():
        also = table("chips.toml")["families"][name].get("also", [])
        if plain in {_plain(known) for known in (name, *also, *family.names)}:
            return name
    return None


def file_name(kind: str, family: Family, cann: str) -> dict[str, Any] | None:
    """The row that names the package of a kind; rows for one family come before the general ones."""
    rows = [row for row in table("installation.toml")["names"] if row["kind"] == kind and applies(row, cann)]
    fitting = [row for row in rows if family.name in row.get("families", [family.name])]
    return max(fitting, key=lambda row: "families" in row, default=None)


def row_for(name: str, cann: str) -> dict[str, Any] | None:
    """The row of a list in the table whose range of CANN releases holds this one."""
    return next((row for row in table("installation.toml")[name] if applies(row, cann)), None)


def applies(row: dict[str, Any], cann: str) -> bool:
    low, high = row["from"], row.get("below")
    if high and releases.key(high) <= releases.key(cann):
        return False
    return releases.key(low) <= releases.key(cann)


def address(name: str) -> str:
    return str(table("installation.toml")["addresses"][name])


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", name.lower())
