"""Which CANN and Python belong to which MindSpore, and where its wheel is."""

from __future__ import annotations

from dataclasses import field
from functools import cache

from jumar.core.compat import dataclass
from jumar.tables.load import table


@dataclass(frozen=True, slots=True)
class MindSpore:
    """One MindSpore release as its installation page pairs it."""

    mindspore: str
    cann: str
    python: tuple[str, ...]
    confidence: str
    source: str
    package: str | None = None
    """Its name on the public index, if it is there."""
    wheels: dict[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """Python versions of the published wheels by architecture."""
    exact_python: dict[str, str] = field(default_factory=dict, hash=False)
    """The exact Python that the page asks for."""
    hdk: str | None = None
    solution: str | None = None
    mindformers: str | None = None

    @property
    def from_index(self) -> bool:
        """From 2.7 on the public index is the place; before, the pages give the vendor's own address."""
        return self.package is not None and tuple(map(int, self.mindspore.split(".")[:2])) >= (2, 7)


@cache
def releases() -> tuple[MindSpore, ...]:
    """All rows, oldest first."""
    rows = []
    for row in table("mindspore_versions.json")["releases"]:
        wheels = {arch: tuple(pythons) for arch, pythons in row.get("wheels", {}).items()}
        rows.append(MindSpore(**{**row, "python": tuple(row["python"]), "wheels": wheels}))
    return tuple(rows)
