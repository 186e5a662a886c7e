"""What a dry run found, as values; `report` turns them into text and pages."""

from __future__ import annotations

from typing import Any, NamedTuple


class StepTime(NamedTuple):
    """Of one step on the card, modelled; seconds."""

    compute: float
    """Of the card: the longer of computing and moving data, operator by operator."""
    host: float
    """That the host needs to send the operators."""
    exposed: float
    """Of collectives that the program waits for."""
    hidden: float
    """Of collectives that run beside the kernels, as far as these last long enough."""
    low: float
    high: float
    operations: float
    """Of products, convolutions and attention."""
    mfu: float
    """Share of the chip's float16 peak."""

    @property
    def total(self) -> float:
        return max(self.compute, self.host) + self.exposed + max(0.0, self.hidden - self.compute)


class Link(NamedTuple):
    """One kind of collective of a step."""

    name: str
    group: str
    ranks: int
    bytes: int
    calls: int
    seconds: float
    waits: bool
    site: str


class Hint(NamedTuple):
    """Something to change, with what it gains."""

    what: str
    gain: int
    """Bytes of the peak."""


class RankRun(NamedTuple):
    """One rank; `found` is what the process wrote."""

    found: dict[str, Any]
    time: StepTime | None
    links: list[Link]
    hints: list[Hint]
    buffers: int
    """Of HCCL, outside of torch_npu's allocator; modelled."""
    code: int

    @property
    def fits(self) -> bool:
        memory = self.found["memory"]
        return not self.found["out_of_memory"] and (
            not memory or memory["reserved"] + self.buffers <= self.found["capacity"]
        )


class DryRun(NamedTuple):
    """All ranks that were played."""

    program: str
    world: int
    ranks: list[RankRun]
    limits: tuple[str, ...]
    """What is real, modelled and assumed."""
