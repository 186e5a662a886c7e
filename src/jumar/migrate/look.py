"""A file of the project that was read once, with what quick looks at its text have told.

A look depends on nothing but the text, so the cache keeps what it told; a run after one edit looks at one file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from jumar.core.compat import dataclass


@dataclass(slots=True)
class Text:
    """A file that a language claims."""

    path: str
    raw: bytes
    problem: str = ""
    """Why it is left out: then `raw` is empty."""
    told: dict[str, Any] = field(default_factory=dict)
    """What looks have told, by their names; plain values of JSON."""
    is_new: bool = False
    """Has a look told something that the cache did not know?"""

    def tells(self, name: str, look: Callable[[bytes], Any]) -> Any:
        """What a look at the text tells; `name` has to change with the look."""
        if name not in self.told:
            self.told[name] = look(self.raw)
            self.is_new = True
        return self.told[name]
