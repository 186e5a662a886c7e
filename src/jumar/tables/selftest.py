"""The documented differences between a card and the emulator (data/selftest_limits.toml)."""

from __future__ import annotations

import fnmatch
from typing import NamedTuple

from jumar.core.errors import UserError
from jumar.tables import socs
from jumar.tables.load import table


class Limit(NamedTuple):
    name: str
    cases: tuple[str, ...]
    kind: str
    as_if: str
    why: str
    source: str
    page: str
    chips: tuple[str, ...] = ()
    """Families of chips.toml; all of them if there is none."""

    def is_about(self, id_: str, kind: str, as_if: str, family: str) -> bool:
        if (self.kind, self.as_if) != (kind, as_if) or (self.chips and family not in self.chips):
            return False
        return any(fnmatch.fnmatch(id_, one) for one in self.cases)


def limits() -> tuple[Limit, ...]:
    rows = table("selftest_limits.toml")["limits"]
    return tuple(Limit(**{**row, "cases": tuple(row["cases"]), "chips": tuple(row.get("chips", ()))}) for row in rows)


def documented(id_: str, kind: str, as_if: str, soc: str = "") -> Limit | None:
    """The row that explains a difference of this kind in this case on this chip."""
    try:
        family = socs.family(socs.known(soc))
    except UserError:
        family = ""
    return next((row for row in limits() if row.is_about(id_, kind, as_if, family)), None)
