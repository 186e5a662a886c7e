"""One record for everything a feature reports to the user."""

from __future__ import annotations

from dataclasses import field

from jumar.core.compat import StrEnum, dataclass
from jumar.core.edit import Edit


class Level(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Safety(StrEnum):
    """Who may apply a fix: `--write`, `--write --unsafe`, or only a person."""

    SAFE = "safe"
    ASK = "ask"
    SHOW = "show"


class State(StrEnum):
    """What became of a CUDA-dependent site; each site ends in exactly one."""

    REWRITTEN = "rewritten"
    HAND = "needs a hand"
    UNSUPPORTED = "unsupported"
    FALLBACK = "falls back"
    BENIGN = "benign"


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a file: 1-based lines and columns (columns count characters), end exclusive."""

    path: str
    line: int = 0
    col: int = 0
    end_line: int = 0
    end_col: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.col}" if self.line else self.path


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to say to the user: what, where, and what to do about it."""

    id: str
    level: Level
    message: str
    where: Where | None = None
    fix: str | None = None
    safety: Safety = Safety.SHOW
    state: State | None = None
    doc: str | None = None
    edits: tuple[Edit, ...] = field(default=(), repr=False)
    subject: str = ""
