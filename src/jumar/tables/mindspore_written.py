"""Names of MindSpore 1.x that are gone, with lines of today's names that stand for them."""

from __future__ import annotations

from functools import cache

from jumar.core.compat import dataclass
from jumar.tables.load import table


@dataclass(frozen=True, slots=True)
class Written:
    name: str
    """What the lines define, and what is written where the old name stood."""
    text: str

    def lines(self, mindspore: str) -> str:
        """The definition in a file that spells `mindspore` this way."""
        return self.text.strip("\n").replace("{ms}", mindspore)


@cache
def by_old_name() -> dict[str, Written]:
    rows = table("mindspore_written.toml")["written"].items()
    return {old: Written(name, row["text"]) for name, row in rows for old in row["names"]}
