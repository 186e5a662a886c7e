"""What the emulator saw of Triton kernels, in a file beside the profile: an analyzer of `jumar perf` reads it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

_NAME = "triton_launches"


class KernelFacts(NamedTuple):
    """A kernel with its constants and types."""

    kernel: str
    where: str
    """File and line of its text."""
    launches: int
    programs: int
    """In the largest grid."""
    cores: int
    """Of the chip, of the kind that the kernel runs on."""
    dot: bool
    slow: tuple[str, ...] = ()
    """Operations that the vector unit does not have for their type."""
    tails: tuple[str, ...] = ()
    """Blocks whose last axis is padded."""
    scattered: tuple[str, ...] = ()
    """Blocks whose elements do not lie side by side in memory."""


def write(folder: Path, kernels: Iterable[KernelFacts]) -> None:
    rows = [one._asdict() for one in kernels]
    (folder / f"{_NAME}-{os.getpid()}.json").write_text(json.dumps(rows), encoding="utf-8")


def read(folder: Path) -> list[KernelFacts]:
    """The kernels of all processes of a run."""
    found = []
    for path in sorted(folder.glob(f"{_NAME}-*.json")):
        for row in json.loads(path.read_text(encoding="utf-8")):
            lists = {key: tuple(value) for key, value in row.items() if isinstance(value, list)}
            found.append(KernelFacts(**{**row, **lists}))
    return found
