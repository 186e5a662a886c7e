"""What kind of work each cause is, and how many hours such work took in public ports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cache
from typing import Any

from jumar.core.compat import dataclass
from jumar.tables.load import table


@dataclass(frozen=True, slots=True)
class CauseRow:
    """How the findings of one rule become causes."""

    by: str = "subject"
    """`package`, `subject`, `folder` or `rule`: what places of one cause have in common."""
    work: str = "edit"
    """`edit`, or `kernel` for work that no port measures."""
    title: str = ""
    todo: str = ""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """By state of the finding; states without an entry keep their usual kind."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Each pair is the low and the high end."""

    per_hour: tuple[float, float]
    """Finished and tested lines in an hour."""
    review: tuple[float, float]
    """Lines of a diff that a person reviews in an hour."""
    per_place: tuple[float, float]
    """Lines that a port changed for each reported place: the first and the ninth decile of the ports."""
    touched: tuple[float, float]
    """Share of the places left to people that a port changed at all, in per cent; the rest it left out."""
    ports: int
    inside: int
    """Ports whose own number of lines lies in the range that all others give."""


@cache
def causes() -> dict[str, CauseRow]:
    rows: dict[str, dict[str, Any]] = table("causes.toml")["causes"]
    return {id_: CauseRow(**row) for id_, row in rows.items()}


def cause(id_: str) -> CauseRow:
    """The row of a rule; a rule without one groups by subject."""
    return causes().get(id_, CauseRow())


@cache
def rates() -> Rates:
    measured, kept = table("ports.json"), table("causes.toml")["rates"]
    return Rates(
        _pair(kept["per_hour"]), _pair(kept["review"]), _pair(measured["per_place"]), _pair(measured["touched"]),
        len(measured["ports"]), measured["inside"],
    )  # fmt: skip


def _pair(values: list[float]) -> tuple[float, float]:
    return values[0], values[1]
