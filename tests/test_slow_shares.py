"""Slow tests in shares: each test is in one, what is not reached has not passed, and the next share is known."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import slow
import slow_shares
from slow_shares import COUNT, Row

_CONFTEST = f"""
import sys

sys.path.insert(0, {str(Path(slow_shares.__file__).parent)!r})
import slow_shares


def pytest_addoption(parser):
    slow_shares.add_options(parser)


def pytest_configure(config):
    slow_shares.install(config)
"""
_TESTS = """
import pytest


@pytest.mark.slow
@pytest.mark.parametrize("number", range(12))
def test_number(number):
    assert number != 7


@pytest.mark.slow
@pytest.mark.alone
def test_alone():
    pass


@pytest.mark.slow
def test_left_out():
    pytest.skip("no such tool")
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite of its own in the place of ours."""
    (tmp_path / "conftest.py").write_text(_CONFTEST)
    (tmp_path / "test_numbers.py").write_text(_TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -q\nmarkers =\n  slow:\n  alone:\n")
    monkeypatch.setattr(slow, "ROOT", tmp_path)
    return tmp_path


def test_rows_are_sorted_and_have_a_share() -> None:
    rows = slow_shares.read()
    assert list(rows) == sorted(rows)
    assert {row.share for row in rows.values()} <= set(range(1, COUNT + 1))
    assert all(row.seconds >= 0 for row in rows.values())


def test_shares_take_about_the_same_time() -> None:
    """Two workers have 25 minutes; a share has to leave room for set-up and for a slower machine."""
    sums: Counter[int] = Counter()
    for row in slow_shares.read().values():
        sums[row.share] += round(row.seconds)
    assert len(sums) == COUNT and max(sums.values()) < 2 * 20 * 60


def test_every_test_is_in_one_share(suite: Path) -> None:
    seen: Counter[str] = Counter()
    for share in range(1, COUNT + 1):
        events = suite / f"events{share}"
        words = [sys.executable, "-m", "pytest", "--share", str(share), f"--events={events}"]
        subprocess.run(words, cwd=suite, capture_output=True, check=False, timeout=300)
        lines = events.read_text().splitlines() if events.exists() else []
        seen.update(list(slow.read_events(lines, {}, time.time()).outcomes))
    assert len(seen) == 14 and set(seen.values()) == {1}


def test_a_whole_run_tells_what_became_of_each_test(suite: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert slow.main([]) == 1
    said = capfd.readouterr().out
    assert "    1 failed\n   12 passed\n    1 skipped\n" in said
    assert "failed: test_numbers.py::test_number[7]" in said


def test_what_no_time_is_left_for_is_named_and_has_not_passed(suite: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert slow.main(["--minutes", "0.1", "--workers", "0"]) == 0  # without a row, a test needs 45 seconds
    said = capfd.readouterr().out
    assert "   14 not reached\n" in said and " passed" not in said.partition("slow tests:")[2]
    assert "not run, no time was left: test_numbers.py::test_number[7]" in said


def test_a_run_that_pytest_cannot_start_fails(suite: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert slow.main(["--workers", "0", "--", "--no-such-option"]) == 1
    assert "pytest ended with 4" in capfd.readouterr().out


def test_a_test_that_hangs_fails_and_one_that_is_cut_off_has_not_run() -> None:
    chosen = {"event": "chosen", "tests": ["a", "b", "c"]}
    began = [{"event": "began", "test": test, "at": 1000.0} for test in ("a", "b")]
    done = slow.read_events(map(json.dumps, [chosen, *began]), {"a": Row(1, 10.0), "b": Row(1, 100.0)}, 1100.0)
    assert done.outcomes == {"a": "hangs", "b": "cut off", "c": "not reached"}
    assert slow.failed(done) == ["a"] and not slow.passed(done)
    assert "not run to its end, the time was over: b" in slow.summary(done, 2, 60)


def test_times_are_shared_out_evenly() -> None:
    rows = {f"test{number}": Row(1, float(number)) for number in range(41)}
    found = slow.balanced(rows)
    sums = Counter(dict.fromkeys(range(1, COUNT + 1), 0.0))
    for row in found.values():
        sums[row.share] += row.seconds
    assert found.keys() == rows.keys() and max(sums.values()) - min(sums.values()) <= 3


def test_the_next_share_is_the_number_of_the_file_and_moves_on_where_it_is_forgotten(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True, capture_output=True)

    path = tmp_path / "share"
    path.write_text("4\n")
    assert slow.next_share(path) == 4  # without a repository
    git("init")
    git("add", "share")
    git("commit", "-m", "landing")
    for _ in range(slow.LANDING - 1):
        git("commit", "--allow-empty", "-m", "more")
    assert slow.next_share(path) == 4
    git("commit", "--allow-empty", "-m", "more")
    assert slow.next_share(path) == 1
    path.write_text("2\n")
    assert slow.next_share(path) == 2  # moved on, and not committed yet
