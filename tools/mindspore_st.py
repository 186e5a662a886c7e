"""Runs MindSpore's own tests for Ascend (`tests/st`) on the emulated machine and says what passed and why not.

Usage: python tools/mindspore_st.py CLONE --python PY [--jobs N] [--timeout S] [--half tuned|held] [--filter REGEX]
                                    [--most N] [--out FILE] [--judge] [--matching PY] [--record [NAME]]

CLONE is a folder with MindSpore's `tests`, or MindFormers'; PY is an interpreter with mindspore and pytest. Every file
that has a case marked for Ascend is taken, in an order that says nothing about its content, so that a part of the run
is a fair sample. A hash of its path puts it into one of two halves: the tuned one may be looked at, the held one is
only counted.
FILE keeps a line per file: a run that was stopped goes on where it was. --judge runs what failed on MindSpore's CPU
target: the same error there says nothing about the emulator. --matching runs it with MindSpore of the tests' own
release: what passes there on the same stand-ins is a difference between releases. --record writes the figures for
docs/results/mindspore.md.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from conformance import Rules, find_cause, read_rules
from jumar.emulate import mindspore
from jumar.runtime import process
from mindspore_target import variables

_RULES = Path(__file__).with_suffix(".toml")
_WORKER = Path(__file__).with_name("mindspore_st_worker.py")
_RECORDS = Path(__file__).parents[1] / "docs" / "results" / "data"
_MARK = re.compile(r"platform_ascend|_ascend(?:910b)?_training")
HALVES = ("tuned", "held")
STATES = ("passed", "refused", "wrong", "failed", "out of time", "not runnable", "skipped")


Rows = dict[str, list[dict[str, str]]]
"""By file: name, state and text of its cases."""


class Case(NamedTuple):
    file: str
    half: str
    name: str
    state: str
    cause: str


def main() -> int:
    options = _options()
    root = Path(options.clone).resolve()
    files = [name for name in listed(root) if options.half in (half_of(name), "both")]
    files = [name for name in files if re.search(options.filter, name)][: options.most]
    if not files:
        print(f"error: no tests for Ascend in `{options.clone}`", file=sys.stderr)
        return 2
    out = Path(options.out)
    waiting = [name for name in files if name not in read(out)]
    _start(root, {name: [] for name in waiting}, out, options, options.python, "Ascend")
    rules = read_rules(_RULES)
    judged, matching = Path(f"{out}.cpu"), Path(f"{out}.matching")
    if options.judge:
        _start(root, _doubtful(out, judged, rules), judged, options, options.python, "CPU")
    if options.matching:
        _start(root, _doubtful(out, matching, rules), matching, options, options.matching, "Ascend")
    found = {name: rows for name, rows in read(out).items() if name in set(files)}
    cases = judge(found, read(judged), rules, read(matching))
    if options.record:
        _write(cases, files, options)
    print(summary(cases))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="run MindSpore's tests for Ascend on the emulator")
    parser.add_argument("clone", help="folder with MindSpore's `tests`")
    parser.add_argument("--python", required=True, type=os.path.abspath, help="interpreter with mindspore and pytest")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=90, help="seconds of CPU without a new result")
    parser.add_argument("--memory", type=int, default=8, help="GiB that a process may take")
    parser.add_argument("--half", choices=("tuned", "held", "both"), default="both")
    parser.add_argument("--filter", default="", help="only files whose path fits this regular expression")
    parser.add_argument("--most", type=int, help="only the first N files of the order")
    parser.add_argument("--out", default="mindspore-st.jsonl", help="a line per file; files in it are not run again")
    parser.add_argument("--judge", action="store_true", help="run what failed on the CPU target, too")
    parser.add_argument(
        "--matching", type=os.path.abspath, metavar="PY", help="run what failed with the release of the tests, too"
    )
    parser.add_argument(
        "--record", nargs="?", const="st", metavar="NAME", help="write the figures for the results page [st]"
    )
    return parser.parse_args()


def listed(root: Path) -> list[str]:
    """The files with cases for Ascend, in the order of the hashes of their paths."""
    paths = [path for path in (root / "tests" / "st").rglob("test_*.py") if _MARK.search(_text(path))]
    return sorted((path.relative_to(root).as_posix() for path in paths), key=_hash)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def half_of(name: str) -> str:
    return "tuned" if int(_hash(name)[-1], 16) % 2 == 0 else "held"


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def read(out: Path) -> Rows:
    """The cases of each file that has been run."""
    if not out.exists():
        return {}
    rows = [json.loads(line) for line in _text(out).splitlines() if line.endswith("}")]
    return {row["file"]: row["cases"] for row in rows}


def _start(
    root: Path, files: dict[str, list[str]], out: Path, options: argparse.Namespace, python: str, target: str
) -> None:
    """Workers side by side, each with its share of the files."""
    if not files:
        return
    environ = {**os.environ, **_variables(python, target)}
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        running = []
        for job in range(options.jobs):
            order = {
                "root": str(root),
                "files": dict(list(files.items())[job :: options.jobs]),
                "limit": options.timeout,
                "memory": options.memory << 30,
                "out": str(out.resolve()),
            }
            path = Path(scratch) / f"job{job}"
            path.write_text(json.dumps(order), encoding="utf-8")
            running.append(subprocess.Popen([python, str(_WORKER), str(path)], env=environ, stdout=subprocess.DEVNULL))
        for worker in running:
            worker.wait()


def _variables(python: str, target: str) -> dict[str, str]:
    own = {"DEVICE_TARGET": target}  # what tests of 2.7 and later ask for
    if platform.machine() == "x86_64":  # equal values keep their order in `argsort`, as on the vendor's machines
        own["NPY_DISABLE_CPU_FEATURES"] = "AVX512F AVX512_SKX"
    return {**variables(python, target, "mindspore-st"), **own}


def _doubtful(out: Path, known: Path, rules: Rules) -> dict[str, list[str]]:
    """What failed and was not refused, by file, unless `known` has it: another run may tell whose fault it is."""
    done = read(known)
    doubtful: dict[str, list[str]] = {}
    for case in judge(read(out), {}, rules):
        if case.state in ("wrong", "failed") and case.file not in done and case.name != "(file)":
            doubtful.setdefault(case.file, []).append(case.name)
    return doubtful


def judge(found: Rows, on_cpu: Rows, rules: Rules, matching: Rows | None = None) -> list[Case]:
    """Every case with its state; the rules say it for those that failed, and so do other runs of the same case."""
    cases = []
    for file, rows in found.items():
        there = {
            row["name"]: find_cause(row["text"], rules) for row in on_cpu.get(file, []) if row["state"] == "failed"
        }
        passes = {row["name"] for row in (matching or {}).get(file, []) if row["state"] == "passed"}
        for row in rows:
            state, cause = row["state"], ""
            if state == "failed":
                state, _, cause = find_cause(row["text"], rules).partition(": ")
                state, cause = (state, cause) if state in STATES else ("failed", f"{state}: {cause}".strip(": "))
            if state in ("wrong", "failed") and row["name"] in passes:
                state, cause = "not runnable", "passes with the release of the tests"
            elif state in ("wrong", "failed") and there.get(row["name"]) == find_cause(row["text"], rules):
                state, cause = "not runnable", "the same error on MindSpore's CPU target"
            cases.append(Case(file, half_of(file), row["name"], state, cause))
    return cases


def figures(cases: list[Case]) -> dict[str, dict[str, int]]:
    counts = {half: collections.Counter(case.state for case in cases if case.half == half) for half in HALVES}
    return {half: {state: found[state] for state in STATES} for half, found in counts.items()}


def summary(cases: list[Case]) -> str:
    """A line per half; then the causes in the tuned half, with their number of cases and some files."""
    lines = []
    for half, found in figures(cases).items():
        counted = sum(found.values()) - found["skipped"] - found["not runnable"]
        share = 100 * found["passed"] / counted if counted else 0.0
        rest = ", ".join(f"{state} {found[state]}" for state in STATES[1:])
        lines.append(f"{half}: passed {found['passed']} of {counted} ({share:.1f} %); {rest}")
    groups: dict[tuple[str, str], list[Case]] = collections.defaultdict(list)
    for case in cases:
        if case.half == "tuned" and case.cause:
            groups[case.state, case.cause].append(case)
    for (state, cause), members in sorted(groups.items(), key=lambda item: -len(item[1])):
        files = sorted({case.file.removeprefix("tests/st/") for case in members})
        lines.append(f"{len(members):5}  {state}: {cause}")
        lines.append(f"       {', '.join(files[:3])}{' …' if len(files) > 3 else ''}")
    return "\n".join(lines)


def _write(cases: list[Case], files: list[str], options: argparse.Namespace) -> None:
    tests = process.run(["git", "-C", options.clone, "log", "-1", "--format=%h %cs"])
    refused = collections.Counter(case.cause for case in cases if case.state == "refused" and case.half == "tuned")
    record = {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "mindspore": mindspore.check(options.python).mindspore,
        "tests": tests.out.strip() if tests.code == 0 else "",
        "files": {half: len({case.file for case in cases if case.half == half}) for half in HALVES},
        "of": {half: sum(half_of(name) == half for name in listed(Path(options.clone))) for half in HALVES},
        "figures": figures(cases),
        "refused": refused.most_common(15),
    }
    path = _RECORDS / f"mindspore_{options.record}.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
