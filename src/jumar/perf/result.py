"""What `jumar perf` has to say, as plain values; reports read this module."""

from __future__ import annotations

from dataclasses import field
from typing import NamedTuple

from jumar.core.compat import dataclass

MEASURED = "measured"
MODELLED = "modelled"


class Split(NamedTuple):
    """Where the time of one rank went, in microseconds; the parts make up the total."""

    total: float
    computing: float
    communication: float
    """Not hidden behind computing."""
    host: float
    """The card is idle and the host does not send work fast enough."""
    data: float
    """The card is idle and the program waits for a batch."""
    unknown: float
    """The card is idle and the profile does not say why."""
    overlapped: float = 0.0
    """Communication behind computing: part of `computing`."""


class Advice(NamedTuple):
    """One thing to change."""

    id: str
    name: str
    message: str
    saved: float
    """Microseconds over the profile that it may save; 0 where that is not known."""
    basis: str
    """`measured`: the profile has this time; `modelled`: an estimate."""
    evidence: tuple[str, ...]
    change: tuple[str, ...]
    where: str = ""
    """File and line in the program, where the profile has them."""
    ranks: tuple[int, ...] = ()
    most: int | None = None
    """The rank that the figures are of, where several ranks have the same advice."""


class Operator(NamedTuple):
    """All kernels of one type."""

    type: str
    core: str
    calls: int
    time: float


class Launches(NamedTuple):
    """How the host sends work; microseconds."""

    sent: int
    call: float | None
    """Average of the host's call, where the profile has it."""
    delay: float
    """Average from the end of the call to the begin of the kernel."""
    delay_median: float
    late: int
    """Kernels that begin more than 100 us after their call."""
    short: int | None
    """Kernels that are shorter than their call."""
    queue: float
    """Kernels that wait in the busiest stream, on average over time."""
    queue_most: int
    queue_full: float
    """How long a queue had 1024 kernels or more."""


class Use(NamedTuple):
    """Operations of matrix products, convolutions and attention, forward and backward."""

    operations: float
    rate: float
    """TFLOPS over the whole time."""
    peak: float | None
    """TFLOPS of the chip in float16."""
    mfu: float | None
    """Share of the peak."""
    partial: bool
    """Convolutions are in the profile whose result has no known size: they are not counted."""


class Lane(NamedTuple):
    """A row of the picture: a name and stretches, each with a kind and a label."""

    name: str
    parts: tuple[tuple[float, float, str, str], ...]


@dataclass(frozen=True, slots=True)
class RankReport:
    rank: int
    path: str
    split: Split
    kernels: int
    steps: int
    operators: tuple[Operator, ...]
    advice: tuple[Advice, ...]
    lanes: tuple[Lane, ...]
    window: tuple[float, float]
    """What the picture shows."""
    notes: tuple[str, ...] = ()
    modelled: str = ""
    chip: str = ""
    memory: tuple[float, float] | None = None
    """Peaks in MB: allocated, reserved."""
    memory_over_time: tuple[tuple[float, float, float], ...] = ()
    """Microseconds since the first, MB allocated, MB reserved."""
    launches: Launches | None = None
    use: Use | None = None


@dataclass(frozen=True, slots=True)
class Report:
    path: str
    ranks: tuple[RankReport, ...]
    advice: tuple[Advice, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def modelled(self) -> str:
        return next((rank.modelled for rank in self.ranks if rank.modelled), "")


class Change(NamedTuple):
    """One type of kernel in two profiles: calls and time per step."""

    type: str
    calls: tuple[float, float]
    time: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Difference:
    before: Report
    after: Report
    split: tuple[Split, Split]
    """Per step."""
    steps: tuple[int, int]
    kernels: tuple[Change, ...]
    gone: tuple[Advice, ...]
    new: tuple[Advice, ...]


def time(amount: float) -> str:
    """Microseconds for people."""
    if amount >= 1e6:
        return f"{amount / 1e6:,.2f} s"
    return f"{amount / 1e3:.2f} ms" if amount >= 1e3 else f"{amount:.1f} us"
