"""What `jumar smi` knows at one moment: plain values that reports print."""

from __future__ import annotations

from typing import NamedTuple


class Process(NamedTuple):
    """A process on a card; what the host does not tell about it is empty."""

    pid: int
    name: str
    memory_mib: int
    user: str
    command: str
    script: str


class Card(NamedTuple):
    """One chip: what programs call a device. None is a value that the board does not report."""

    number: int
    """Its number for ASCEND_RT_VISIBLE_DEVICES: chips are counted in the order in which npu-smi prints them."""
    npu: int
    chip: int
    name: str
    health: str
    bus: str | None
    busy: int | None
    """Use of the AI cores in percent."""
    used_mib: int | None
    total_mib: int | None
    power: float | None
    """Watts; an A3 reports it once for both chips of an NPU, on the first."""
    temp: int | None
    """Degrees Celsius."""
    processes: tuple[Process, ...] | None
    """None where npu-smi lists no processes (a 310B)."""

    @property
    def used_percent(self) -> float | None:
        return 100 * self.used_mib / self.total_mib if self.used_mib is not None and self.total_mib else None


class View(NamedTuple):
    tool: str
    """Version of npu-smi."""
    cards: tuple[Card, ...]
    notes: tuple[str, ...]
    """What npu-smi warned about, or printed in a way that is not understood."""
