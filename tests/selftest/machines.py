"""What a self-test on an emulated machine leaves, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

PLANTS = Path(__file__).parent / "plants"


class Tested(NamedTuple):
    code: int
    document: dict[str, Any]
    said: str
    archive: Path

    def found(self) -> dict[str, dict[str, str]]:
        """Kinds and their verdicts, by case."""
        found: dict[str, dict[str, str]] = {}
        for row in self.document["differences"]:
            found.setdefault(row["id"], {})[row["kind"]] = row["verdict"]
        return found


SelfTest = Callable[..., Tested]
