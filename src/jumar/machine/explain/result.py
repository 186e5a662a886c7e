"""What an explanation is: plain values that reports print."""

from __future__ import annotations

from typing import NamedTuple

from jumar.core.finding import Level
from jumar.tables.errors import Role, Signature

TELLING = (Role.ROOT, Role.SYMPTOM, Role.DETAIL, Role.SAID, Role.FOLLOWS)


class Moment(NamedTuple):
    """A time as a log writes it; some logs leave out the year."""

    year: int
    month: int
    day: int
    second: float
    """Of the day."""

    def __str__(self) -> str:
        minutes, seconds = divmod(self.second, 60)
        date = f"{self.year}-{self.month:02}-{self.day:02}" if self.year else f"{self.month:02}-{self.day:02}"
        return f"{date} {int(minutes) // 60:02}:{int(minutes) % 60:02}:{seconds:06.3f}"


class Frame(NamedTuple):
    """A place of a traceback."""

    file: str
    line: int
    function: str
    is_own: bool
    """Does it belong to the program, not to an installed package or to Python?"""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}{f' in {self.function}' if self.function else ''}"


class Occurrence(NamedTuple):
    """The first line of a rank on which a signature was found."""

    file: str
    order: int
    """Of the file among the files read."""
    line: int
    text: str
    rank: int | None
    time: Moment | None
    code: str
    """What the signature's lookup names, such as 507015."""
    times: int
    """Lines of this rank and file with this signature."""
    facts: dict[str, float]
    """Numbers that the line gives, such as `free` and `total`, in bytes."""
    is_mild: bool
    """Does the program itself call the line a warning or an information?"""
    is_survived: bool
    """Does the program work on just below it?"""
    is_at_exit: bool
    """Was it raised while Python was ending?"""
    is_chained: bool
    """Was it raised while the exception above it was handled, or because of it?"""
    around: tuple[str, ...]
    """The lines just above and below it: the reason often stands there."""
    frames: tuple[Frame, ...]
    """Of an exception: the deepest line of the program itself, and the deepest one of a library."""
    values: dict[str, str]
    """What the line says, by the names that its row gives to the parts, such as `module`."""


class Cause(NamedTuple):
    """One thing that went wrong, with the first line of each rank; the first rank is the one that came first."""

    signature: Signature
    occurrences: tuple[Occurrence, ...]

    @property
    def times(self) -> int:
        return sum(item.times for item in self.occurrences)

    @property
    def first(self) -> Occurrence:
        return self.occurrences[0]


class LogFile(NamedTuple):
    """A file that was read."""

    name: str
    lines: int
    size: int
    """Bytes, unpacked."""
    rank: int | None
    problem: str
    """Why it was not read to the end; empty if it was."""


class Explanation(NamedTuple):
    """What logs say, best explanation first; without causes they hold nothing that is known."""

    causes: tuple[Cause, ...]
    files: tuple[LogFile, ...]
    first_rank: int | None
    """The rank that failed first, where several ranks can be told apart."""
    silent_ranks: tuple[int, ...]
    """Ranks with a log of their own that report nothing while the others waited."""
    rival: Cause | None = None
    """Another cause that fits as well as the first one."""
    program: str = ""
    """The kind of program that wrote the logs, such as `build` or `torch`."""

    @property
    def has_error(self) -> bool:
        """Is there an error at all, known or not?"""
        return any(cause.signature.level is Level.ERROR for cause in self.causes)

    @property
    def is_known(self) -> bool:
        """Is there more than a bare exception, or a report that something failed?"""
        return any(cause.signature.role in TELLING and cause.signature.level is Level.ERROR for cause in self.causes)

    @property
    def says_more(self) -> bool:
        """Is there more to say than what the program wrote itself?"""
        roles = (cause.signature.role for cause in self.causes if cause.signature.level is Level.ERROR)
        return any(role in TELLING and role is not Role.SAID for role in roles)
