"""A training job in Jumar's own terms: what is asked for, what the platform says of it, and what a platform can do.

ModelArts' JSON is read and written in `modelarts_v1` and `modelarts_v2` only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from jumar.cloud.address import Remote
from jumar.core.compat import StrEnum


class State(StrEnum):
    """Where a job is; the values are ModelArts' own words."""

    CREATING = "Creating"
    PENDING = "Pending"
    RUNNING = "Running"
    TERMINATING = "Terminating"
    COMPLETED = "Completed"
    FAILED = "Failed"
    TERMINATED = "Terminated"
    ABNORMAL = "Abnormal"
    UNKNOWN = "Unknown"
    """A word that this version of Jumar does not know."""

    @property
    def ended(self) -> bool:
        return self in _ENDED

    @classmethod
    def _missing_(cls, value: object) -> State:
        return cls.UNKNOWN


_ENDED = frozenset({State.COMPLETED, State.FAILED, State.TERMINATED, State.ABNORMAL})


class Fault(StrEnum):
    """Why a platform refuses a request; the values are the codes of its answers."""

    BAD_REQUEST = "ModelArts.0103"
    NO_ALGORITHM = "ModelArts.2755"
    BAD_NAME = "Jumar.BadName"
    BAD_ENVIRONMENT = "Jumar.BadEnvironment"
    NO_SUCH_ENGINE = "Jumar.NoSuchEngine"
    NO_SUCH_FLAVOR = "Jumar.NoSuchFlavor"
    NO_SUCH_JOB = "Jumar.NoSuchJob"
    NO_SUCH_TASK = "Jumar.NoSuchTask"
    WRONG_STATE = "Jumar.WrongState"

    @property
    def missing(self) -> bool:
        """Whether what the request names is not there."""
        return self in (Fault.NO_SUCH_JOB, Fault.NO_SUCH_TASK)


class Refused(Exception):
    """A request that the platform does not carry out."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault, self.message = fault, message


class Access(StrEnum):
    """How the script learns where an input or output is."""

    PARAMETER = "parameter"
    ENV = "env"


class Channel(NamedTuple):
    """An input or output of a job."""

    name: str
    place: Remote
    access: Access = Access.PARAMETER
    local: str = ""
    """Its folder in the container, where the platform tells."""


class JobSpec(NamedTuple):
    """What is asked of a platform. Of a job that somebody else started, fields that the platform omits are empty."""

    name: str
    code: Remote | None = None
    """Code folder."""
    boot: str = ""
    """Script to start, relative to the code folder."""
    engine: str = ""
    flavor: str = ""
    nodes: int = 1
    parameters: tuple[tuple[str, str], ...] = ()
    inputs: tuple[Channel, ...] = ()
    outputs: tuple[Channel, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    log: Remote | None = None
    """Where the platform puts the logs."""
    hours: float | None = None
    """After so many the job ends by itself."""
    description: str = ""
    workspace: str = "0"


class Event(NamedTuple):
    time: int
    """Milliseconds."""
    message: str


class Job(NamedTuple):
    """What a platform says of a job; times in milliseconds, 0 for what has not happened."""

    id: str
    spec: JobSpec
    state: State
    lost: bool = False
    """What ran the job is gone."""
    created: int = 0
    started: int = 0
    duration: int | None = None
    exit_code: int | None = None
    devices: int = 0
    """Of each node; 0 where the platform does not tell."""
    tasks: tuple[str, ...] = ("worker-0",)
    """One for each node; each has a log."""
    events: tuple[Event, ...] = ()
    warning: str = ""
    """What its owner should know although it completed; only the stand-in tells."""


class LogEnd(NamedTuple):
    """The end of a log; platforms show no more than that of a long one."""

    text: str
    size: int
    """Bytes of the whole log."""

    def after(self, seen: int) -> str:
        """What the log has more than the bytes that were seen before."""
        return self.text.encode()[-(self.size - seen) :].decode(errors="replace") if self.size > seen else ""


class Flavor(NamedTuple):
    id: str
    devices: int
    most_nodes: int = 0
    """0 where the platform does not tell."""
    cpu: int = 0
    memory_gb: int = 0
    number: int | None = None
    """Version 1 names it so."""


class Engine(NamedTuple):
    version: str
    v1: bool = False
    """Its scripts copy their data with MoXing."""
    number: int | None = None
    """Version 1 names it so."""


class Platform(Protocol):
    """ModelArts, or the stand-in on this machine."""

    stops_jobs: bool
    """Whether a job can end by itself after some hours."""

    def request(self, spec: JobSpec) -> Mapping[str, Any]:
        """What `submit` would send, for people to read. Changes nothing, here or there."""

    def submit(self, spec: JobSpec) -> Job: ...
    def get(self, id_: str) -> Job: ...
    def list(self) -> Sequence[Job]:
        """The newest first."""

    def stop(self, id_: str) -> None: ...
    def delete(self, id_: str) -> None: ...
    def logs(self, id_: str, task: str = "worker-0") -> LogEnd: ...
    def flavors(self) -> Sequence[Flavor]: ...
    def engines(self) -> Sequence[Engine]: ...
