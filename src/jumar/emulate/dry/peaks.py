"""Peaks of the card's memory over the whole run: programs reset torch's own between steps."""

from __future__ import annotations

from typing import Any, NamedTuple

_BEFORE: dict[int, Peaks] = {}
"""Of each card, up to the last reset."""


class Peaks(NamedTuple):
    """Bytes."""

    allocated: int
    reserved: int


def install() -> None:
    import torch_npu

    reset = torch_npu._C._npu_resetPeakMemoryStats

    def reset_later(device: int) -> Any:
        _BEFORE[device] = highest(device)
        return reset(device)

    torch_npu._C._npu_resetPeakMemoryStats = reset_later


def highest(device: int) -> Peaks:
    import torch

    stats, before = torch.npu.memory_stats(device), _BEFORE.get(device, Peaks(0, 0))
    return Peaks(*(max(old, stats.get(f"{name}_bytes.all.peak", 0)) for name, old in before._asdict().items()))
