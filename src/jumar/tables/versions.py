"""Which torch_npu belongs to which torch, and the CANN, Python and companion packages that go with it."""

from __future__ import annotations

from dataclasses import field
from functools import cache

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from jumar.core.compat import dataclass
from jumar.tables.load import table


@dataclass(frozen=True, slots=True)
class Release:
    """One torch_npu release as the vendor's tables pair it."""

    torch: str
    torch_npu: str
    cann: str
    python: tuple[str, ...]
    published: bool
    """Is there a wheel on the public index?"""
    beta: bool
    confidence: str
    source: str
    branch: str | None = None
    aarch64: tuple[str, ...] = ()
    """The Python versions of aarch64 wheels, where they are others than those of x86_64."""
    glibc: dict[str, str] = field(default_factory=dict, hash=False)
    """The lowest glibc of the wheel by architecture."""
    pin: dict[str, str] = field(default_factory=dict, hash=False)
    """The torch that the wheel's metadata asks for, by architecture: `2.7.1+cpu`."""

    def pythons(self, arch: str) -> tuple[str, ...]:
        return self.aarch64 if arch == "aarch64" and self.aarch64 else self.python


@cache
def releases() -> tuple[Release, ...]:
    """All rows, oldest torch first."""
    rows = table("torch_npu_versions.json")["releases"]
    lists = ("python", "aarch64")
    return tuple(Release(**{**row, **{name: tuple(row.get(name, ())) for name in lists}}) for row in rows)


@cache
def release_for(torch: str) -> Release | None:
    """The newest release for exactly this torch; published, final and officially paired ones come first."""
    wanted = public(torch)
    rows = [row for row in releases() if wanted is not None and Version(row.torch) == wanted]
    return max(rows, key=_rank, default=None)


def _rank(row: Release) -> tuple[bool, bool, bool, Version]:
    return row.published, not row.beta, row.confidence == "official", Version(row.torch_npu)


def release_within(specifier: SpecifierSet, preferred: str) -> Release | None:
    """The release for `preferred` if the range allows it, else the one for the newest torch that it allows."""
    names = sorted({row.torch for row in releases()}, key=Version, reverse=True)
    for torch in [preferred, *names]:
        row = release_for(torch)
        if row is not None and specifier.contains(row.torch) and (row.published or torch == preferred):
            return row
    return None


def nearest(torch: str) -> Release | None:
    """The release whose torch is closest to one that has none: same minor version first."""
    wanted = public(torch)
    if wanted is None:
        return None
    rows = [row for name in {row.torch for row in releases()} if (row := release_for(name)) is not None]
    same = [row for row in rows if Version(row.torch).release[:2] == wanted.release[:2]]
    newer = [row for row in rows if Version(row.torch) > wanted]
    if same:
        return max(same, key=lambda row: Version(row.torch))
    return min(newer, key=lambda row: Version(row.torch), default=None)


@cache
def companions() -> dict[str, dict[str, str]]:
    """torchvision and torchaudio by torch version."""
    return {row["torch"]: dict(row) for row in table("torch_npu_versions.json")["pairs"]}


def public(version: str) -> Version | None:
    """A version without its local part (`2.1.0+cu118` → `2.1.0`)."""
    try:
        return Version(Version(version).public)
    except InvalidVersion:
        return None
