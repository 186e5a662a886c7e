"""The documented differences between a card and the emulator (data/selftest_limits.toml)."""

from __future__ import annotations

import fnmatch
from typing import NamedTuple

from jumar.tables.load import table


class Limit(NamedTuple):
    name: str
    cases: tuple[str, ...]
    kind: str
    as_if: str
    why: str
    source: str
    page: str


def limits() -> tuple[Limit, ...]:
    rows = table("selftest_limits.toml")["limits"]
    return tuple(Limit(**{**row, "cases": tuple(row["cases"])}) for row in rows)


def documented(id_: str, kind: str, as_if: str) -> Limit | None:
    """The row that explains a difference of this kind in this case."""
    return next(
        (
            row
            for row in limits()
            if row.kind == kind and row.as_if == as_if and any(fnmatch.fnmatch(id_, one) for one in row.cases)
        ),
        None,
    )
