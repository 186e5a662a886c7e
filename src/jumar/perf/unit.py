"""What every analyzer declares, and how they are found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol, cast

from jumar.core import discover
from jumar.perf.facts import Facts
from jumar.perf.result import Advice

_LONG = 60


class Unit(NamedTuple):
    id: str
    name: str
    summary: str


class Analyzer(Protocol):
    ADVICE: Unit

    def look(self, facts: Facts) -> Iterable[Advice]: ...


def analyzers() -> list[Analyzer]:
    """Every analyzer, by id."""
    return [cast(Analyzer, module) for module in discover.units("jumar.perf.analyzers", "ADVICE")]


def brief(name: str) -> str:
    """Kernels of a GPU have names of several hundred characters."""
    return name if len(name) <= _LONG else f"{name[:_LONG]}…"


def times(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
