"""What to start, as one plain value that every engine reads."""

from __future__ import annotations

from dataclasses import dataclass, field

SIGNALS = ("TERM", "INT", "HUP", "USR1", "USR2")
"""What a rank may be told with; SIGKILL follows."""
DEFAULT_PORT = 29500
"""Where the first machine of several listens, as torchrun's own default."""


@dataclass(frozen=True)
class Job:
    words: tuple[str, ...]
    """The program as the user wrote it: `train.py ARGS`, `-m module ARGS` or a program."""
    cards: int
    """Cards on each machine."""
    folder: str
    """Where the program starts, on every machine."""
    name: str = "train"
    nodes: tuple[str, ...] = ()
    count: int = 1
    """Machines, where an engine picks them."""
    port: int = 0
    logs: str = ""
    bind: str = "auto"
    restarts: int = 0
    until: str = ""
    grace: int = 30
    signal: str = "TERM"
    rank_table: str = ""
    python: str = "python3"
    settings: dict[str, str] = field(default_factory=dict)
    """What an engine is told beside all this (`--set`)."""
    extra: tuple[str, ...] = ()
    """Options of `jumar launch` that go to every machine as they are (--soc, --memory, --cuda, --no-check)."""


@dataclass(frozen=True)
class Local:
    """The ranks of one machine: the input of torch elastic's agent."""

    argv: tuple[str, ...]
    variables: dict[str, str]
    device_ids: tuple[int, ...]
    """What DEVICE_ID is in each rank: the number of its card among the visible ones."""
    cores: tuple[tuple[int, ...], ...]
    """The cores of each rank; empty when ranks are not bound."""
    logs: str
    id: str
    nodes: int = 1
    node_rank: int = 0
    master: str = ""
    port: int = 0
    restarts: int = 0
    grace: int = 30
    until: float | None = None
    """Seconds since the epoch at which nothing may run any more."""
    signal: str = "TERM"
    unset: tuple[str, ...] = ()
    meet: int = 600
    """Seconds that machines wait for each other."""


@dataclass(frozen=True)
class Failure:
    rank: int
    code: int
    log: str
    tail: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """How a job ended: `state` is succeeded, failed, stopped, until or error."""

    state: str
    code: int
    failure: Failure | None = None
    others: int = 0
    """Ranks that failed beside the first."""
    signal: int = 0
    codes: dict[int, int | None] = field(default_factory=dict)
    message: str = ""
    rate: str = ""
