"""Edits: applied at once, overlaps refused, positions mapped back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumar.core.edit import Claims, Edit, OverlapError, apply, map_back, ordered


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


def test_claims_are_taken_whole_or_not_at_all() -> None:
    claims = Claims()
    assert claims.take([Edit(2, 4, b"x"), Edit(8, 9, b"y")])
    assert claims.take([Edit(2, 4, b"x"), Edit(4, 5, b"")]), "an equal edit and a neighbour are no clash"
    assert not claims.take([Edit(20, 21, b""), Edit(3, 6, b"")])
    assert claims.take([Edit(20, 22, b"")]), "nothing of a refused set is claimed"
    assert not claims.take([Edit(21, 21, b"in the middle")])
    assert claims.take([Edit(20, 20, b"before"), Edit(22, 22, b"behind")])


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
