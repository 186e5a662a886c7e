"""Runs the slow tests, whole or in shares, side by side, and says what ran, what failed and what was not reached.

    python tools/slow.py                       all of them (`make slow`)
    python tools/slow.py --share 2             one share of four (`make slow SHARE=2`)
    python tools/slow.py --share next          the share that `.ci/share` names, as CI does
    python tools/slow.py --minutes 25          what does not fit into the time is not run, and named
    python tools/slow.py --record [--balance]  measure: write tests/slow.json, and share the tests out anew

Tests marked `alone` come first, with nothing beside them. A test that is not reached, or is cut off because the time is
over, has not run: it is named, and it has neither passed nor failed. One that takes far longer than usual hangs, which
is a failure. Words behind `--` are pytest's. Ends with 1 if a test failed.

Which share is next: a landing has many commits, and a clone does not know where the one before ended, so nothing that
is worked out from the history goes up by one with each landing. The number stands in `.ci/share` instead; a share that
passed moves it on, and the change is part of the landing. Any four landings in a row that do so run everything that
there is time for. Where it is forgotten, 50 commits behind the last change count for one: no share stays out for good,
but nothing is guaranteed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import slow_shares  # noqa: E402
from slow_shares import COUNT, Row, row_of  # noqa: E402

NEXT = ROOT / ".ci" / "share"
LANDING = 50
"""Commits without a change of the number that are taken for a landing."""
HANG = 3.0
"""A test that is cut off after so many times its usual time, and a minute, hangs."""
GRACE = 60.0
"""Seconds behind the time that was given, in which pytest names what it did not reach."""
MARKS = {"alone": "slow and alone", "side by side": "slow and not alone"}
NO_TESTS = 5
WORDS = {
    "not reached": "not run, no time was left",
    "cut off": "not run to its end, the time was over",
    "hangs": "failed, far over its usual time",
    "failed": "failed",
}


class Ended(NamedTuple):
    """What became of the tests."""

    outcomes: Mapping[str, str]
    """`passed`, `failed`, `skipped`, `not reached`, `cut off` or `hangs`, by test."""
    seconds: Mapping[str, float]
    broken: Sequence[str] = ()
    """What pytest itself could not do."""


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    share = next_share(NEXT) if options.share == "next" else int(options.share or 0)
    rows = slow_shares.read()
    began = time.time()
    until = began + 60 * options.minutes if options.minutes else None
    done = Ended({}, {})
    for part in MARKS:
        done = _joined(done, _run(part, share, until, options, rows))
    print(summary(done, share, time.time() - began))
    if options.record:
        _record(done, whole=not share and not options.words, balance=options.balance)
    if options.share == "next" and passed(done) and not os.environ.get("CI"):
        NEXT.write_text(f"{share % COUNT + 1}\n", encoding="utf-8")
        print(f"{NEXT.relative_to(ROOT)} names share {share % COUNT + 1} now: commit it with what lands")
    return 1 if failed(done) or done.broken else 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--share", choices=[*map(str, range(1, COUNT + 1)), "next"], help=f"one of {COUNT}; default: all"
    )
    parser.add_argument("--minutes", type=float, help="time for everything; default: as long as it takes")
    parser.add_argument("--workers", default="2", help="processes for the tests that may run beside others")
    parser.add_argument("--record", action="store_true", help="write what the tests took to tests/slow.json")
    parser.add_argument("--balance", action="store_true", help="with --record: share them out anew, by what they take")
    parser.add_argument("words", nargs="*", help="for pytest")
    return parser.parse_args(argv)


def next_share(path: Path) -> int:
    """The number in the file, moved on by the landings that forgot it."""
    number = int(path.read_text(encoding="utf-8"))
    return (number + _commits_since(path) // LANDING - 1) % COUNT + 1


def _commits_since(path: Path) -> int:
    """Since the last change of the file; 0 where git cannot tell, and where the change is not committed yet."""

    def git(*words: str) -> str:
        call = ["git", "-C", str(path.parent), *words]
        return subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("log", "-1", "--format=%H", "--", path.name)
        if not changed or git("status", "--porcelain", "--", path.name):
            return 0
        return int(git("rev-list", "--count", f"{changed}..HEAD"))
    except (OSError, subprocess.CalledProcessError):
        return 0


def _run(part: str, share: int, until: float | None, options: argparse.Namespace, rows: Mapping[str, Row]) -> Ended:
    print(f"== slow tests, {part}{_of(share)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="jumar-slow-") as scratch:
        events = Path(scratch) / "events"
        events.touch()
        # One word: a path that stands alone is where pytest looks for tests, whatever option is in front of it.
        words = [sys.executable, "-m", "pytest", "-m", MARKS[part], f"--events={events}"]
        words += ["-n", options.workers, "--dist", "worksteal"] if part != "alone" else []
        words += ["--share", str(share)] if share else []
        words += ["--until", str(until)] if until else []
        code = _call([*words, *options.words], None if until is None else max(0.0, until - time.time()) + GRACE)
        found = read_events(events.read_text(encoding="utf-8").splitlines(), rows, time.time())
    if code not in (0, 1, NO_TESTS, None) or (code == 1 and not failed(found)):
        return found._replace(broken=[f"pytest ended with {code}"])
    return found


def _of(share: int) -> str:
    return f", share {share} of {COUNT}" if share else ""


def _call(words: Sequence[str], limit: float | None) -> int | None:
    """The exit code, or None for a run that was ended because its time was over."""
    running = subprocess.Popen(words, cwd=ROOT, start_new_session=True)
    try:
        return running.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGTERM)
            try:
                running.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()


def read_events(lines: Iterable[str], rows: Mapping[str, Row], now: float) -> Ended:
    """What the plug-in wrote; a test that began and has no end was running when the time was over."""
    outcomes: dict[str, str] = {}
    seconds: dict[str, float] = {}
    for event in map(json.loads, lines):
        if event["event"] == "chosen":
            outcomes = {**dict.fromkeys(event["tests"], "not reached"), **outcomes}
        elif event["event"] == "began":
            outcomes[event["test"]], seconds[event["test"]] = "began", event["at"]
        else:
            outcomes[event["test"]], seconds[event["test"]] = event["outcome"], event["seconds"]
    for test in [test for test, outcome in outcomes.items() if outcome == "began"]:
        seconds[test] = now - seconds[test]
        usual = row_of(test, rows).seconds
        outcomes[test] = "hangs" if seconds[test] > HANG * usual + 60 else "cut off"
    return Ended(outcomes, seconds)


def _joined(one: Ended, other: Ended) -> Ended:
    outcomes = {**one.outcomes, **other.outcomes}
    return Ended(outcomes, {**one.seconds, **other.seconds}, [*one.broken, *other.broken])


def failed(done: Ended) -> list[str]:
    return _with(done, "failed") + _with(done, "hangs")


def passed(done: Ended) -> bool:
    """Nothing failed of what ran, and something did."""
    return bool(_with(done, "passed")) and not failed(done) and not done.broken


def _with(done: Ended, outcome: str) -> list[str]:
    return sorted(test for test, found in done.outcomes.items() if found == outcome)


def summary(done: Ended, share: int, took: float) -> str:
    counts = Counter(done.outcomes.values())
    lines = [
        f"slow tests{_of(share)}: {took / 60:.1f} minutes",
        *(f"{counts[name]:5} {name}" for name in sorted(counts)),
    ]
    slowest = sorted(done.seconds.items(), key=lambda item: -item[1])[:10]
    lines += ["the slowest, in seconds:", *(f"{seconds:5.0f} {test}" for test, seconds in slowest)] if slowest else []
    lines += [f"{words}: {test}" for outcome, words in WORDS.items() for test in _with(done, outcome)]
    return "\n".join([*lines, *done.broken])


def _record(done: Ended, *, whole: bool, balance: bool) -> None:
    """Add the tests that passed; a whole run forgets those that are gone."""
    rows = slow_shares.read()
    measured = {test: done.seconds[test] for test in _with(done, "passed")}
    known = {test: row for test, row in rows.items() if test in done.outcomes} if whole else rows
    merged = {**known, **{test: Row(row_of(test, rows).share, round(took)) for test, took in measured.items()}}
    merged = balanced(merged) if balance else merged
    lines = [f"{json.dumps(test)}: {json.dumps(list(row))}" for test, row in sorted(merged.items())]
    slow_shares.FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def balanced(rows: Mapping[str, Row]) -> dict[str, Row]:
    """Longest first, each to the share that has least."""
    sums = [0.0] * COUNT
    found = {}
    for test, row in sorted(rows.items(), key=lambda item: (-item[1].seconds, item[0])):
        place = sums.index(min(sums))
        sums[place] += max(row.seconds, 0.5)
        found[test] = row._replace(share=place + 1)
    return found


if __name__ == "__main__":
    sys.exit(main())
