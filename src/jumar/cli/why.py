"""What a failed rank's log means, where the part that explains logs is there."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence


def why(lines: Sequence[str]) -> list[str]:
    """Lines that explain an error in a log; none when nothing is known about it."""
    try:
        explain: Callable[[str], list[str]] = importlib.import_module("jumar.machine.explain").explain_text
        return list(explain("\n".join(lines)))
    except (ImportError, AttributeError):
        return []
