"""One rank's profile as plain values, independent of the file; times in microseconds since the first event."""

from __future__ import annotations

from dataclasses import field
from typing import NamedTuple

from jumar.core.compat import dataclass

DATA = "enumerate(DataLoader)"
"""How torch marks the time in which the program waits for a batch."""
FALLBACK = "fallback to the CPU: "
"""How the recorder marks an operator that torch_npu has no kernel for."""
COPY = "copy to the host"
PRINT = "print of a tensor"


class HostOp(NamedTuple):
    """An operator as the host saw it: `aten::add`, or a marked stretch of the program."""

    name: str
    start: float
    end: float
    thread: int
    shapes: str = ""
    types: str = ""
    stack: str = ""
    flow: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """Numbers of the tensors it read and wrote, where the recorder wrote them."""
    concrete: str = ""
    """The arguments of a convolution that are no tensors, where the trace has them."""


class Kernel(NamedTuple):
    """A task on the card."""

    name: str
    type: str
    core: str
    """AI_CORE, AI_VECTOR_CORE, MIX_AIC, AI_CPU, HCCL …; empty where the file does not say."""
    start: float
    end: float
    shapes: str = ""
    types: str = ""
    state: str = ""
    """`dynamic` or `static`, where the file says so."""
    host: float = -1.0
    """When the host sent it, where that is known."""
    thread: int = 0
    call: float = 0.0
    """How long the call of the host took that sent it, where that is known."""
    stream: int = 0

    @property
    def duration(self) -> float:
        return self.end - self.start


class ProfiledStep(NamedTuple):
    name: str
    start: float
    end: float


class StepRow(NamedTuple):
    """A row of step_trace_time.csv, in microseconds."""

    name: str
    computing: float
    exposed: float
    overlapped: float
    free: float


class Memory(NamedTuple):
    """Peaks of the caching allocator in MB."""

    allocated: float
    reserved: float
    held: tuple[tuple[str, float], ...] = ()
    """Operators whose blocks were alive at the peak, with MB, largest first."""
    over_time: tuple[tuple[float, float, float], ...] = ()
    """Microseconds since the first, MB allocated, MB reserved."""


class Block(NamedTuple):
    """A block of the caching allocator: who asked for it, MB, from when to when in nanoseconds."""

    name: str
    size: float
    start: int
    end: int | None
    total: float
    """MB in all blocks just after this one."""


class Collective(NamedTuple):
    """A row of communication.json."""

    name: str
    elapsed: float
    transit: float
    wait: float
    size_mb: float


@dataclass(slots=True)
class Profile:
    rank: int
    path: str
    host: list[HostOp] = field(default_factory=list)
    kernels: list[Kernel] = field(default_factory=list)
    comm: list[Kernel] = field(default_factory=list)
    steps: list[ProfiledStep] = field(default_factory=list)
    step_rows: list[StepRow] = field(default_factory=list)
    collectives: list[Collective] = field(default_factory=list)
    calls: dict[str, tuple[int, float]] = field(default_factory=dict)
    """Calls into CANN, or into CUDA: how many, how long."""
    waits: list[tuple[float, float]] = field(default_factory=list)
    """Calls in which the host waits for the card."""
    memory: Memory | None = None
    environment: dict[str, str] | None = None
    """Variables of the run, where the profile has them."""
    jit_compile: bool | None = None
    chip: str = ""
    modelled: str = ""
    """How device times were made up, where they are not measured."""
    notes: list[str] = field(default_factory=list)
    operators: dict[str, tuple[int, float, float, str]] = field(default_factory=dict)
    """From operator_details.csv by name: calls, host time, device time, first call stack."""


def is_communication(name: str, core: str = "") -> bool:
    lower = name.lower()
    return core in ("HCCL", "COMMUNICATION") or lower.startswith("hcom_") or "nccl" in lower
