"""What running a project before and after its migration showed: plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from jumar.core.compat import StrEnum, dataclass
from jumar.core.held import Held


class End(StrEnum):
    """How the import of a module, or a test, ended on one side."""

    OK = "ok"
    FAILED = "failed"
    PACKAGE = "needs a package"
    NETWORK = "needs the network"
    OUTSIDE = "reaches outside the project"
    LATE = "reached the time limit"
    MEMORY = "reached the memory limit"
    EXITED = "ended the interpreter"
    DIED = "crashed the interpreter"
    SKIPPED = "skipped"
    NOT_RUN = "not run"


class Verdict(StrEnum):
    """What both sides together say."""

    SAME = "works as before"
    BETTER = "works now"
    WORSE = "worse"
    BROKEN = "already broken"
    PACKAGE = "needs a package"
    UNKNOWN = "cannot tell"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One side."""

    end: End
    seconds: float = 0.0
    error: str = ""
    """The last line of the traceback."""
    trace: tuple[str, ...] = ()
    """The last lines of the traceback."""
    site: tuple[str, int] | None = None
    """The innermost place inside the project: path and line."""
    package: str = ""
    """The top-level module that is not installed."""


@dataclass(frozen=True, slots=True)
class Case:
    """A module or a test on both sides."""

    name: str
    """The module's dotted name, or the test's id."""
    path: str
    """Its file, from the top of the project."""
    before: Outcome
    after: Outcome
    verdict: Verdict
    reason: str = ""
    """Why there is no yes or no, in a few words."""
    is_changed: bool = False
    """Did the migration change its file?"""
    is_script: bool = False
    """Does its file start work when it is imported?"""


@dataclass(frozen=True, slots=True)
class Missing:
    """A package that modules of the project need and that is not installed."""

    module: str
    pip: str
    """What to install; empty when no table knows it."""
    note: str
    """Why installing it is no way, for packages that are made for CUDA."""
    cases: int


@dataclass(frozen=True, slots=True)
class Proof:
    modules: tuple[Case, ...]
    tests: tuple[Case, ...] = ()
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()
    """What was left out or could not be done, in sentences."""
    seconds: float = 0.0
    held: Held = Held("nothing")
    """What stood between the project and this machine."""

    @property
    def cases(self) -> tuple[Case, ...]:
        return (*self.modules, *self.tests)

    @property
    def worse(self) -> tuple[Case, ...]:
        return tuple(case for case in self.cases if case.verdict is Verdict.WORSE)

    @property
    def verdict(self) -> Verdict:
        """Worse; or the same, when every changed module was compared; else nobody can tell."""
        if self.worse:
            return Verdict.WORSE
        changed = [case for case in self.modules if case.is_changed]
        told = all(case.verdict in (Verdict.SAME, Verdict.BETTER) for case in changed)
        return Verdict.SAME if told and not self.cut else Verdict.UNKNOWN

    @property
    def cut(self) -> bool:
        """Was something not run because all the time was used up?"""
        return any(End.NOT_RUN in (case.before.end, case.after.end) for case in self.cases)


def counts(cases: Sequence[Case]) -> Counter[Verdict]:
    return Counter(case.verdict for case in cases)
