"""A plan for moving a project: plain values."""

from __future__ import annotations

from collections.abc import Iterable

from jumar.core.compat import StrEnum, dataclass


class Kind(StrEnum):
    """What a cause does to the project if nothing is done about it; in the order of the work."""

    BLOCKS = "blocks"
    RESULTS = "changes results"
    UNCLEAR = "to be clarified"
    SPEED = "costs speed"
    COSMETIC = "cosmetic"


class Area(StrEnum):
    PRODUCT = "product"
    TESTS = "tests"
    CI = "CI and images"
    OPTIONAL = "optional"


@dataclass(frozen=True, slots=True)
class Effort:
    """A range in person-hours."""

    low: float = 0.0
    high: float = 0.0

    def __add__(self, other: Effort) -> Effort:
        return Effort(self.low + other.low, self.high + other.high)


@dataclass(frozen=True, slots=True)
class Group:
    """All places with one root cause."""

    cause: str
    """In a few words, names in backticks."""
    kind: Kind
    places: int
    files: int
    areas: tuple[tuple[Area, int], ...]
    """Number of places by area, the most first."""
    effort: Effort | None
    """None where no public port says anything about such work."""
    todo: str
    """What to do, in one sentence."""
    is_made: bool
    """Does `jumar migrate` make the change, so that only a review is left?"""
    ids: tuple[str, ...]
    examples: tuple[str, ...]
    """The first places, `path:line`."""

    @property
    def area(self) -> Area:
        return self.areas[0][0]


@dataclass(frozen=True, slots=True)
class Roadmap:
    root: str
    groups: tuple[Group, ...]
    scanned: int
    lines: int
    changed: int
    """Files that `jumar migrate` changes."""
    unknown: tuple[str, ...]
    """What nobody knows yet, in sentences."""
    basis: str
    """Where the hours come from."""

    @property
    def places(self) -> int:
        return sum(group.places for group in self.groups)

    @property
    def effort(self) -> Effort:
        """Of all groups that can be estimated."""
        return total(self.groups)

    @property
    def is_open(self) -> bool:
        """Is there work that nobody can estimate?"""
        return any(group.effort is None for group in self.groups)

    def of(self, area: Area) -> int:
        """Number of places in one area."""
        return sum(dict(group.areas).get(area, 0) for group in self.groups)


def total(groups: Iterable[Group]) -> Effort:
    return sum((group.effort for group in groups if group.effort is not None), Effort())
