"""How facts about a machine are read: one interface for this machine, a collected folder and a host over ssh."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

TIMEOUT = 15.0
"""Seconds that a vendor command may take."""
MISSING = "missing"
DENIED = "no permission"
LATE = "timeout"
ENDLESS = "prints endlessly"
NOT_COLLECTED = "not collected"
UNREACHABLE = "unreachable"


class Ran(NamedTuple):
    """What a command did; `problem` is empty when it ran to its end, whatever its exit code."""

    code: int
    out: str = ""
    err: str = ""
    problem: str = ""

    @property
    def good(self) -> bool:
        return not self.problem and self.code == 0

    @property
    def said(self) -> str:
        """Both streams: vendor commands tell their errors on either."""
        return "\n".join(text for text in (self.out.rstrip(), self.err.rstrip()) if text)


class Read(NamedTuple):
    """The text of a file, or why there is none."""

    text: str | None
    problem: str = ""


class Probe(Protocol):
    """A machine to look at. Nothing here raises for what a machine can be like."""

    @property
    def name(self) -> str: ...

    @property
    def environ(self) -> Mapping[str, str]: ...

    @property
    def broken(self) -> str:
        """Why the machine cannot be asked any more; empty while it can."""
        ...

    def run(self, command: Sequence[str], timeout: float = TIMEOUT) -> Ran: ...

    def read(self, path: str) -> Read: ...

    def paths(self, pattern: str) -> list[str]:
        """What a shell pattern stands for; folders count too."""
        ...

    def close(self) -> None: ...


def over(value: Any, change: Callable[[str], str]) -> Any:
    """A value of lists, tables and texts with every text changed, names too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): over(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [over(item, change) for item in value]
    return value
