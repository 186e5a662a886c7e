"""One key with its scalar value, the same for every configuration format."""

from __future__ import annotations

from typing import NamedTuple

from jumar.core.compat import StrEnum


class Kind(StrEnum):
    PLAIN = "plain"
    """Written without quotes."""
    QUOTED = "quoted"
    BLOCK = "block"
    """Several lines of text as they stand."""
    OPEN = "open"
    """The key of a mapping or list: its content follows as entries of its own."""


class ConfigEntry(NamedTuple):
    """A scalar with the path of keys that leads to it; `[]` stands for a place in a list."""

    path: tuple[str, ...]
    value: str
    start: int
    end: int
    """The span of the value without its quotes."""
    key_start: int
    key_end: int
    kind: Kind = Kind.PLAIN
    is_exact: bool = True
    """Does the source spell the value as it is, without escapes?"""

    @property
    def key(self) -> str:
        """The nearest key, list places left out."""
        return next((part for part in reversed(self.path) if part != "[]"), "")
