"""What the caching allocator held: memory_record.csv for the peaks, operator_memory.csv for who held it then."""

from __future__ import annotations

from pathlib import Path

from jumar.perf.profile import Block, Profile
from jumar.perf.readers.collect import nanoseconds
from jumar.perf.readers.peaks import peaks
from jumar.perf.readers.tables import positive, rows

COMPONENTS = {"PTA", "PTA+GE", "WORKSPACE+PTA", "MindSpore", "MindSpore+GE"}
"""Rows of the framework's allocator; `APP` is the whole process as the driver sees it."""
_TOP = 3
_UNITS = {"KB": 1 / 1024, "MB": 1.0, "GB": 1024.0}


def record(path: Path, profile: Profile) -> None:
    """memory_record.csv: the highest use, and what the allocator held beside it."""
    found = []
    for row in rows(path, profile):
        if row.get("Component") not in COMPONENTS:
            continue
        try:
            held = _megabytes(row, "Total Allocated"), _megabytes(row, "Total Reserved")
            found.append((_moment(row), *held))
        except (ValueError, OverflowError):
            continue
    peaks(found, profile)


def operators(path: Path, profile: Profile) -> None:
    """operator_memory.csv: the blocks and their owners."""
    blocks = []
    for row in rows(path, profile):
        try:
            released = row.get("Release Time(us)", "").strip()
            blocks.append(
                Block(
                    row["Name"],
                    _megabytes(row, "Size"),
                    nanoseconds(row["Allocation Time(us)"]),
                    nanoseconds(released) if released else None,
                    _megabytes(row, "Allocation Total Allocated"),
                )
            )
        except (KeyError, ValueError, OverflowError):
            continue
    at_peak(blocks, profile)


def at_peak(blocks: list[Block], profile: Profile) -> None:
    """Who held memory when most of it was in use."""
    if profile.memory is None or not blocks:
        return
    moment = max(blocks, key=lambda block: block.total).start
    sizes: dict[str, float] = {}
    for block in blocks:
        if block.start <= moment and (block.end is None or block.end > moment):
            sizes[block.name] = sizes.get(block.name, 0.0) + block.size
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:_TOP]
    profile.memory = profile.memory._replace(held=tuple(largest))


def _moment(row: dict[str, str]) -> int:
    for key, value in row.items():
        if key.startswith("Timestamp"):
            return nanoseconds(value.strip())
    return 0


def _megabytes(row: dict[str, str], name: str) -> float:
    for key, value in row.items():
        if key.startswith(f"{name}("):
            return positive(value) * _UNITS.get(key[len(name) + 1 : -1], 1.0)
    raise ValueError(name)
