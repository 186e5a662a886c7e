"""Opens what the user names: a record of Jumar, or a dump of the vendor's tool."""

from __future__ import annotations

from pathlib import Path

from jumar.compare import store, vendor
from jumar.compare.store import Rank, Step


def ranks(path: Path) -> list[Rank]:
    """The processes of a record or dump, by rank."""
    return vendor.ranks(path) if vendor.is_dump(path) else store.ranks(path)


def read_step(path: Path) -> Step:
    return vendor.read_step(path) if path.name == vendor.DUMP else store.read_step(path)


def step(rank: Rank, number: int) -> Step:
    """A step by the number that it has in the record: a single step of a dump may be called otherwise there."""
    return read_step(rank.steps[number])._replace(number=number)
