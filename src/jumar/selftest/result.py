"""What a self-test found: plain values, which the archive keeps and reports show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

SAME, DIFFERENT, NOT_RUN, SKIPPED = "same", "different", "not run", "skipped"
EMULATOR_WRONG, DOCUMENTED, DEVICE_FAULT, UNKNOWN = "emulator wrong", "documented limit", "device fault", "unknown"
CLASSES = (EMULATOR_WRONG, DEVICE_FAULT, UNKNOWN, DOCUMENTED)


class Difference(NamedTuple):
    """One thing in which the card is not as the emulator has it."""

    id: str
    """Of the case."""
    kind: str
    """`values`, `rounding`, `data type`, `layout`, `error`, `missing library`, `hang`, `crash`, `slow`, `name` …"""
    what: str
    """One sentence with both sides."""
    verdict: str
    """One of `CLASSES`."""
    why: str
    """The evidence, in one sentence."""
    evidence: Mapping[str, Any] = {}


class CaseResult(NamedTuple):
    id: str
    state: str
    reason: str = ""
    """Why it was skipped or not run."""
    card_seconds: float = 0.0
    emulator_seconds: float = 0.0
    noise: float | None = None
    """Relative error of the card against float64 on the CPU."""
    error: str = ""
    """Where both sides fail alike: with what."""


class Figure(NamedTuple):
    """A measured constant."""

    name: str
    value: float
    unit: str
    spread: float


class SelfTest(NamedTuple):
    """The whole result."""

    machine: Mapping[str, Any]
    """`emulated`, `soc`, `cards`, `memory_mib` and versions; no names, no addresses."""
    cases: tuple[CaseResult, ...]
    differences: tuple[Difference, ...]
    figures: tuple[Figure, ...]
    seconds: float
    day: str

    @property
    def emulated(self) -> bool:
        """Whether the machine that was tested is an emulated one: nothing here is then a fact of a card."""
        return bool(self.machine.get("emulated", True))

    @property
    def complete(self) -> bool:
        return not any(case.state == NOT_RUN for case in self.cases)

    def count(self, state: str) -> int:
        return sum(case.state == state for case in self.cases)

    def document(self) -> dict[str, Any]:
        return {
            "machine": dict(self.machine),
            "day": self.day,
            "seconds": round(self.seconds, 1),
            "cases": [case._asdict() for case in self.cases],
            "differences": [{**row._asdict(), "evidence": dict(row.evidence)} for row in self.differences],
            "figures": [figure._asdict() for figure in self.figures],
        }

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> SelfTest:
        """Raises KeyError or TypeError for a document of another shape."""
        return cls(
            dict(document["machine"]),
            tuple(CaseResult(**row) for row in document["cases"]),
            tuple(Difference(**row) for row in document["differences"]),
            tuple(Figure(**row) for row in document["figures"]),
            float(document["seconds"]),
            str(document["day"]),
        )
