"""Text of others cannot steer a terminal, reorder a line, or change what a diff, a table or a JSON document says."""

from __future__ import annotations

import json
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest

from jumar.core import diff, printable


def test_every_control_and_format_character_is_shown_as_its_number() -> None:
    steering = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp")]
    left = [one for one in steering if printable.printable(f"a{one}b") == f"a{one}b" and one not in "\t\n"]
    # Marks of Egyptian, Kaithi and music notation, which only join signs of their own script.
    assert {unicodedata.name(one).split()[0] for one in left} <= {
        "EGYPTIAN", "KAITHI", "SHORTHAND", "MUSICAL", "ARABIC"
    }  # fmt: skip
    assert printable.printable("\x1b]0;x\x07 \u202e \x9b \U000e0041") == "\\x1b]0;x\\x07 \\u202e \\x9b \\U000e0041"


def test_ordinary_text_stays() -> None:
    for text in ("plain\tand\nlines\r\n", "中文，标点。", "café ✓ → …", "模型-v2_最终.py", "👍🏽"):
        assert printable.printable(text) == text


def test_a_carriage_return_stays_only_at_the_end_of_a_line() -> None:
    assert printable.printable("error\rok\r\n") == "error\\x0dok\r\n"
    assert printable.one_line("a\r\nb\nc") == "a\\r\\nb\\nc"


def test_our_colours_stay_and_others_do_not() -> None:
    ours = printable.paint("warning", "33")
    assert printable.coloured(f"{ours} \x1b[8mhidden\x1b[2J") == f"{ours} \\x1b[8mhidden\\x1b[2J"


def test_a_program_keeps_its_colours_and_cannot_move_the_cursor() -> None:
    line = "\x1b[38;5;208mloss\x1b[0m 0.1\x1b[A\x1b[2K\x1b]52;c;eA==\x07"
    assert printable.of_program(line) == "\x1b[38;5;208mloss\x1b[0m 0.1\\x1b]52;c;eA==\\x07"


def test_json_keeps_its_meaning() -> None:
    value = {"path": "a\x1b\x7f\x9b\u202e\U000e0041\u2028中.py"}
    text = printable.in_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert printable.printable(text) == text
    assert "中" in text


@pytest.mark.parametrize("text", ["`a` [b](javascript:x)", "<img src=x>", "a | b", "one ` tick", "two\nlines"])
def test_markdown_of_others_is_no_markup(text: str) -> None:
    said = printable.markdown(text)
    assert "\n" not in said
    assert said.count("`") % 2 == 0
    plain = said.replace("\\[", "").replace("\\<", "").replace("\\|", "")
    assert not set("[<|") & set(plain)


@pytest.mark.parametrize("name", ["two\n+++ b/victim.py", 'quote".py', "back\\slash.py", "tab\t.py", "plain name.py"])
def test_a_diff_names_one_file_whatever_its_name_is(name: str, tmp_path: Path) -> None:
    """Seen by `git apply` as this file alone: a line feed in a name begins no further diff."""
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    (tmp_path / name.replace("/", "_")).write_bytes(b"old\n")
    path = name.replace("/", "_")
    text = diff.unified(path, b"old\n", b"new\n")
    done = subprocess.run([git, "apply", "--numstat", "-z", "-"], input=text, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == f"1\t1\t{path}\0"
