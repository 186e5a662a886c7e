"""Everything that one run of `jumar parallel` found; values only, for the reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jumar.parallel.error import ErrorBar, TimeBar
from jumar.parallel.hardware import Constant
from jumar.parallel.prove import Proven
from jumar.parallel.search import Found


@dataclass
class Result:
    model: dict[str, Any]
    chip: str
    cards: int
    usable: int
    constants: dict[str, Constant]
    head: list[str]
    shown: list[Found]
    """The plans of the table, the best first; one that does not fit if none does."""
    front: list[Found]
    looked: int
    fits: bool
    fewest: int | None
    answers: list[tuple[str, list[str]]]
    launch: str
    commands: list[tuple[str, str]]
    """What to do with the best plan, and the command; none where no command can prove it."""
    not_generated: list[str]
    """Why each shown plan cannot be generated and proved; empty where it can."""
    error: ErrorBar | None
    """How far compiled memory was from predicted memory."""
    times: TimeBar | None
    """How far published step times were from modelled ones."""
    codes: list[tuple[str, str]] = field(default_factory=list)
    proofs: list[Proven] = field(default_factory=list)
