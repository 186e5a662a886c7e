"""Edits on bytes: the only way Jumar changes a user's file."""

from __future__ import annotations

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


def clashes(edit: Edit, taken: Iterable[Edit]) -> bool:
    """Does `edit` touch bytes that another, different edit has already claimed?"""
    return any(other != edit and edit.start < other.end and other.start < edit.end for other in taken)


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
