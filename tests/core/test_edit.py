"""Edits: applied at once, overlaps refused, positions mapped back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumar.core.edit import Edit, OverlapError, apply, clashes, map_back, ordered


def test_edits_apply_together() -> None:
    assert apply(b"one two three", [Edit(8, 13, b"3"), Edit(0, 3, b"1"), Edit(4, 4, b"and ")]) == b"1 and two 3"


def test_equal_edits_count_once() -> None:
    assert apply(b"cuda", [Edit(0, 4, b"npu"), Edit(0, 4, b"npu")]) == b"npu"


def test_insertions_at_one_place_keep_their_order() -> None:
    assert apply(b"x", [Edit(1, 1, b"b"), Edit(1, 1, b"a")]) == b"xba"


@pytest.mark.parametrize("edits", [[Edit(0, 3, b""), Edit(2, 4, b"")], [Edit(3, 2, b"")], [Edit(0, 99, b"")]])
def test_overlapping_or_impossible_edits_are_refused(edits: list[Edit]) -> None:
    with pytest.raises(OverlapError):
        apply(b"abcdef", edits)


def test_clashes_only_with_other_edits() -> None:
    edit = Edit(2, 4, b"x")
    assert not clashes(edit, [edit, Edit(4, 5, b""), Edit(0, 2, b"")])
    assert clashes(edit, [Edit(3, 5, b"")])


@given(st.binary(max_size=20), st.lists(st.tuples(st.integers(0, 20), st.binary(max_size=3)), max_size=4))
def test_untouched_bytes_map_back_to_themselves(data: bytes, places: list[tuple[int, bytes]]) -> None:
    spots = {min(at, len(data)): new for at, new in places}
    edits = [Edit(at, min(at + 1, len(data)), new) for at, new in spots.items()]
    after = apply(data, edits)
    changed = {edit.start for edit in edits if edit.end > edit.start}
    for offset in set(range(len(data))) - changed:
        place = offset + sum(len(edit.new) - (edit.end - edit.start) for edit in edits if edit.end <= offset)
        assert after[place] == data[offset]
        assert map_back(place, ordered(edits)) == offset
