"""All sets of versions that the tables allow: one for each family, architecture, Python, CANN and framework."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from packaging.version import Version

from jumar.core.compat import dataclass
from jumar.tables import cann as releases
from jumar.tables import installation, mindspore_versions, versions
from jumar.tables.mindspore_versions import MindSpore
from jumar.tables.versions import Release

FRAMEWORKS = ("torch", "mindspore", "none")
PYTHONS = tuple(f"3.{minor}" for minor in range(7, 15))
PREFERRED = ("3.11", "3.10", "3.12", "3.9", "3.8", "3.13", "3.7", "3.14")
"""Python versions in the order in which they are chosen when nobody says one."""
IMAGE_SYSTEMS = ("ubuntu22.04", "openeuler24.03", "openeuler22.03")
"""Systems of public images, in the order in which they stand in for one that has none."""
TRUST = {"official": 3, "high": 2, "medium": 1, "low": 0}


@dataclass(frozen=True, slots=True)
class Candidate:
    """One set of versions that fit together."""

    family: str
    arch: str
    python: str
    cann: str
    row: Release | MindSpore | None
    """The row of the framework's table; None for CANN alone."""
    driver: str | None = None
    """The driver that was asked for or stays; None for the one that CANN was released with."""

    def __str__(self) -> str:
        """The set in one line."""
        framework = f"{self.framework} {self.version}, " if self.row is not None else ""
        return f"{framework}CANN {self.cann}, Python {self.python}, {self.family}, {self.arch}"

    @property
    def framework(self) -> str:
        if self.row is None:
            return "none"
        return "torch" if isinstance(self.row, Release) else "mindspore"

    @property
    def version(self) -> str:
        """The framework's own version."""
        if self.row is None:
            return ""
        return self.row.torch if isinstance(self.row, Release) else self.row.mindspore

    @property
    def glibc(self) -> str | None:
        return self.row.glibc.get(self.arch) if isinstance(self.row, Release) else None

    @property
    def hdk(self) -> str | None:
        kit = releases.kit_for(self.cann)
        return self.driver or (kit.hdk if kit else None)


@cache
def candidates(framework: str) -> tuple[Candidate, ...]:
    """Every set for a framework, in the order of the tables."""
    makers = {"torch": _torch, "mindspore": _mindspore, "none": _alone}
    return tuple(makers[framework]())


def rank(one: Candidate) -> tuple[object, ...]:
    """Higher is better where the user leaves a choice: final, trusted, published and new."""
    row = one.row
    kit = one.hdk is not None
    python = -PREFERRED.index(one.python)
    if isinstance(row, Release):
        trust = TRUST[row.confidence]
        order = (parsed(row.torch), trust, row.published, parsed(row.torch_npu))
        return (not row.beta, trust > 0, True, kit, *order, releases.key(one.cann), python)
    if isinstance(row, MindSpore):
        version = parsed(row.mindspore)
        return (
            not version.is_prerelease,
            TRUST[row.confidence] > 0,
            True,
            kit,
            version,
            releases.key(one.cann),
            python,
        )
    return (not preview(one), kit, releases.key(one.cann), python)


@cache
def parsed(version: str) -> Version:
    """A version of a framework; the same few come thousands of times."""
    return Version(version)


def preview(one: Candidate) -> bool:
    """Is a part of it a preview release?"""
    early = isinstance(one.row, Release) and one.row.beta
    return early or "alpha" in one.cann or "beta" in one.cann


def _torch() -> Iterator[Candidate]:
    for row in versions.releases():
        for cann in releases.within(row.cann):
            for family, arch in _machines(cann):
                yield from (Candidate(family, arch, python, cann, row) for python in row.pythons(arch))


def _mindspore() -> Iterator[Candidate]:
    for row in mindspore_versions.releases():
        for family, arch in _machines(row.cann):
            if parsed(row.mindspore) >= parsed(installation.families()[family].mindspore):
                pythons = row.wheels.get(arch) if row.from_index else row.python
                yield from (Candidate(family, arch, python, row.cann, row) for python in pythons or row.python)


def _alone() -> Iterator[Candidate]:
    for cann in releases.known():
        for family, arch in _machines(cann):
            yield from (Candidate(family, arch, python, cann, None) for python in PYTHONS)


def has_image(one: Candidate) -> bool:
    """Is there a public CANN image with its CANN, chip and Python?"""
    return releases.image(one.cann, installation.families()[one.family].ops, IMAGE_SYSTEMS, one.python) is not None


@cache
def _machines(cann: str) -> tuple[tuple[str, str], ...]:
    """Families and architectures that a CANN release is for."""
    rows = installation.families().values()
    known = [row for row in rows if releases.key(row.first) <= releases.key(cann)]
    return tuple((row.name, arch) for row in known for arch in row.arch)
