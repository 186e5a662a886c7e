"""Edits on bytes: the only way Jumar changes a user's file."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Edit(NamedTuple):
    """Replace `data[start:end]` by `new`; `start == end` inserts."""

    start: int
    end: int
    new: bytes


class OverlapError(ValueError):
    """Two edits claim the same bytes."""


def apply(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Return `data` with all edits carried out; equal edits count once, overlapping ones are refused."""
    parts: list[bytes] = []
    last = 0
    for edit in ordered(edits):
        if edit.start < last or edit.end > len(data) or edit.end < edit.start:
            raise OverlapError(f"edit at {edit.start}..{edit.end} overlaps the one that ends at {last}")
        parts.append(data[last : edit.start])
        parts.append(edit.new)
        last = edit.end
    parts.append(data[last:])
    return b"".join(parts)


def ordered(edits: Iterable[Edit]) -> list[Edit]:
    """The distinct edits by position; insertions at one place keep the order they came in."""
    return sorted(dict.fromkeys(edits), key=lambda edit: (edit.start, edit.end))


class Claims:
    """The bytes already spoken for; asked once per set of edits, in time that does not grow with their number."""

    def __init__(self) -> None:
        self._taken: list[Edit] = []

    def take(self, edits: Sequence[Edit]) -> bool:
        """Claim all of `edits`, or none when one of them touches bytes that a different edit has claimed."""
        if any(self._clashes(edit) for edit in edits):
            return False
        for edit in edits:
            insort(self._taken, edit)
        return True

    def _clashes(self, edit: Edit) -> bool:
        at = bisect_left(self._taken, edit)
        return any(_overlap(edit, other) for other in self._taken[max(at - 2, 0) : at + 2])


def _overlap(edit: Edit, other: Edit) -> bool:
    if edit == other:
        return False
    if edit.start == edit.end or other.start == other.end:
        return other.start < edit.start < other.end or edit.start < other.start < edit.end
    return edit.start < other.end and other.start < edit.end


def map_back(offset: int, edits: Sequence[Edit]) -> int:
    """Where an offset in the edited text was in the text before; `edits` as `ordered` gives them."""
    shift = 0
    for edit in edits:
        start = edit.start + shift
        if offset < start:
            break
        end = start + len(edit.new)
        if offset < end:
            return edit.start
        shift += len(edit.new) - (edit.end - edit.start)
    return offset - shift
