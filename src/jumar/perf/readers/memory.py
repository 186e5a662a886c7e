"""What the caching allocator held: memory_record.csv for the peaks, operator_memory.csv for who held it then."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from jumar.perf.profile import Block, Memory, Profile
from jumar.perf.readers.collect import nanoseconds
from jumar.perf.readers.tables import positive, rows

COMPONENTS = {"PTA", "PTA+GE", "WORKSPACE+PTA", "MindSpore", "MindSpore+GE"}
"""Rows of the framework's allocator; `APP` is the whole process as the driver sees it."""
_TOP = 3
POINTS = 100
"""Of the course of memory over time."""
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


def peaks(found: Iterable[tuple[int, float, float]], profile: Profile) -> None:
    """From moments in nanoseconds, allocated and reserved, in MB."""
    rows = sorted(found)
    allocated = max((row[1] for row in rows), default=0.0)
    reserved = max((row[2] for row in rows), default=0.0)
    if reserved:
        held = profile.memory.held if profile.memory else ()
        profile.memory = Memory(allocated, reserved, held, _course(rows))


def _course(rows: list[tuple[int, float, float]]) -> tuple[tuple[float, float, float], ...]:
    """The highest row of each of POINTS parts of the time; the first and the last moment are always there."""
    if len(rows) < 2 or rows[-1][0] <= rows[0][0]:
        return ()
    start, length = rows[0][0], rows[-1][0] - rows[0][0]
    parts: dict[int, tuple[int, float, float]] = {}
    for row in rows:
        part = (row[0] - start) * (POINTS - 2) // length
        if part not in parts or row[1] > parts[part][1]:
            parts[part] = row
    chosen = sorted({rows[0], rows[-1], *parts.values()})
    return tuple(((at - start) / 1000, one, other) for at, one, other in chosen)


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
