"""The chips by name and family."""

from __future__ import annotations

from functools import cache

from jumar.tables.load import table


@cache
def chips() -> dict[str, str]:
    """Every chip name, without the word Ascend, and its family."""
    return {chip: name for name, family in table("chips.toml")["families"].items() for chip in family["chips"]}


def find(name: str) -> str | None:
    """The chip that a user's spelling means (`Ascend910B3`, `910b3`), or None."""
    plain = _plain(name)
    return next((chip for chip in chips() if chip.lower() == plain), None)


def outside(name: str) -> str | None:
    """What a chip is that the vendor names but the tables do not cover (`310`), or None."""
    found: dict[str, str] = table("chips.toml")["others"]
    return found.get(_plain(name))


def _plain(name: str) -> str:
    return name.strip().lower().removeprefix("ascend").strip()
