"""The diff must be one that `patch` takes, whatever the texts are."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from jumar.core.diff import blocks, hunks, split, unified


def _rebuild(before: bytes, after: bytes) -> bytes:
    old, new = split(before), split(after)
    out: list[bytes] = []
    at = 0
    for block in blocks(old, new):
        out += old[at : block.start] + new[block.new_start : block.new_end]
        at = block.end
    return b"".join(out + old[at:])


@pytest.mark.parametrize("seed", range(60))
def test_blocks_turn_the_old_text_into_the_new_one(seed: int) -> None:
    rng = random.Random(seed)
    words = [b"", b"a", b"b", b"    x = 1", b"\r", b"\xff"]
    before = b"\n".join(rng.choice(words) for _ in range(rng.randrange(200)))
    lines = before.split(b"\n")
    for _ in range(rng.randrange(8)):
        at = rng.randrange(len(lines) + 1)
        lines[at : at + rng.randrange(4)] = [rng.choice(words) for _ in range(rng.randrange(4))]
    after = b"\n".join(lines)
    assert _rebuild(before, after) == after


def test_a_long_rewrite_falls_back_to_the_general_diff() -> None:
    before = b"".join(b"old %d\n" % n for n in range(300)) + b"tail\n"
    after = b"".join(b"new %d\n" % n for n in range(300)) + b"tail\n"
    assert _rebuild(before, after) == after
    assert hunks(before, after)[0].lines[-1].text == b"tail\n"


def test_one_changed_line_is_one_small_hunk() -> None:
    before = b"".join(b"line %d\n" % n for n in range(1, 11))
    assert unified("a.py", before, before.replace(b"line 5\n", b"LINE 5\n")) == (
        b"--- a/a.py\n+++ b/a.py\n@@ -2,7 +2,7 @@\n line 2\n line 3\n line 4\n"
        b"-line 5\n+LINE 5\n line 6\n line 7\n line 8\n"
    )


def test_equal_texts_have_no_diff() -> None:
    assert unified("a.py", b"x\n", b"x\n") == b""


def test_missing_last_newline_is_said() -> None:
    assert b"-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n" in unified("f", b"a", b"b")


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs the `patch` command")
@pytest.mark.parametrize("seed", range(20))
def test_patch_takes_the_diff(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    before = b"".join(b"%d\n" % rng.randrange(5) for _ in range(60))
    lines = split(before)
    for _ in range(4):
        lines.insert(rng.randrange(60), b"new\n")
        del lines[rng.randrange(60)]
    after = b"".join(lines)
    (tmp_path / "f").write_bytes(before)
    subprocess.run(["patch", "-p1", "-s"], input=unified("f", before, after), cwd=tmp_path, check=True)
    assert (tmp_path / "f").read_bytes() == after


def test_two_changed_lines_with_an_equal_one_between_keep_it() -> None:
    text = unified("f", b"a\nsame\nb\n", b"A\nsame\nB\n")
    assert text.endswith(b"-a\n+A\n same\n-b\n+B\n")


def test_lines_of_interest_appear_without_a_change() -> None:
    before = b"".join(b"line %d\n" % n for n in range(1, 31))
    found = hunks(before, before.replace(b"line 2\n", b""), context=1, also=[20])
    assert [(hunk.old, hunk.new, len(hunk.lines)) for hunk in found] == [(1, 1, 3), (19, 18, 3)]
    assert [line.text for line in found[1].lines] == [b"line 19\n", b"line 20\n", b"line 21\n"]


def test_an_insertion_just_before_a_change_keeps_the_blank_line() -> None:
    text = unified("f", b"a\n\nb\n", b"a\nnew\n\nB\n")
    assert text.endswith(b" a\n+new\n \n-b\n+B\n")
