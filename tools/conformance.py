"""Runs a folder of the vendor's own tests on the emulator and says what passed, what failed and why.

Usage: python tools/conformance.py DIR [--jobs N] [--timeout S] [--filter REGEX] [--fork] [--json OUT]

DIR is a folder (or a file) of op-plugin's or torch_npu's tests, for example `test/test_base_ops` of a clone of
Ascend/op-plugin. Each file runs in a process of its own, forked from one that has imported torch already. A case
that kills its process or runs out of time counts as failed; the rest of its file goes on in a new process, as it does
after a case that runs the process's exit functions. Nothing but what the tests themselves skip is left out of the
count; conformance.toml says how causes are read from errors.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import conformance_worker
import forked
from jumar.core.compat import tomllib

_RULES = Path(__file__).with_suffix(".toml")
_MOST_RESTARTS = 40
# What stands around an error: lines of code and of logs, and torch's advice behind it.
_BESIDE = (" ", "[", "To execute this test", "This message can be suppressed")
# Imported once for all files: what their imports cost is most of the time of a small test. None starts a device.
_PRELOADED = (
    "conformance_worker",
    "torch",
    "torch_npu",
    "torch_npu.testing.testcase",
    "pytest",
    "hypothesis",
    "scipy",
)


@dataclass(frozen=True)
class Case:
    file: str
    name: str
    state: str  # passed, failed, skipped
    cause: str = ""  # why it failed
    detail: str = ""


Rules = list[tuple[re.Pattern[str], str]]


class Limits(NamedTuple):
    seconds: float
    bytes: int
    fork: bool = False


def main() -> int:
    options = _options()
    folder = Path(options.folder).resolve()
    files = [folder] if folder.is_file() else sorted(folder.rglob("test*.py"))
    files = [path for path in files if re.search(options.filter, str(path))]
    if not files:
        print(f"error: no tests in `{options.folder}`", file=sys.stderr)
        return 2
    rules = read_rules(_RULES)
    cases: list[Case] = []
    with (
        forked.prepared(options.jobs, "conformance", _PRELOADED),
        ThreadPoolExecutor(options.jobs) as pool,
        tempfile.TemporaryDirectory() as scratch,
    ):
        limits = Limits(options.timeout, options.memory << 30, options.fork)
        for done in pool.map(lambda path: run_file(path, limits, Path(scratch), rules), files):
            cases += done
            if options.json:  # after each file: a run that is stopped has something to show
                _write(Path(options.json), cases)
            if options.verbose:
                print(_line(done), file=sys.stderr, flush=True)
    print(summary(cases))
    return 1 if any(case.state == "failed" for case in cases) else 0


def _write(path: Path, cases: list[Case]) -> None:
    path.write_text(json.dumps([asdict(case) for case in cases], indent=1) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="run the vendor's tests on the emulator")
    parser.add_argument("folder")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=180, help="seconds for a file without a new result")
    parser.add_argument("--memory", type=int, default=8, help="GiB that a process may take")
    parser.add_argument("--filter", default="", help="only files whose path fits this regular expression")
    parser.add_argument("--fork", action="store_true", help="fork the ranks that a test wants to spawn: much faster")
    parser.add_argument("--json", help="every case, as a list of objects")
    parser.add_argument("--verbose", action="store_true", help="a line per file while it runs")
    return parser.parse_args()


def run_file(path: Path, limits: Limits, scratch: Path, rules: Rules) -> list[Case]:
    """All cases of one file, over as many processes as it takes."""
    done: dict[str, Case] = {}
    for attempt in range(_MOST_RESTARTS):
        log = scratch / f"{path.stem}-{abs(hash(path))}-{attempt}"
        arguments = (str(path), str(log), sorted(done), limits.bytes, limits.fork)
        code = forked.run(conformance_worker.run, arguments, log, limits.seconds)
        running = ""
        for record in forked.records(log):
            running = record["name"] if record["state"] == "started" else ""
            if not running:
                done[record["name"]] = _judge(path, record, rules)
        if code == 0:
            break
        if code == conformance_worker.EXIT_FUNCTIONS_RAN and not running:
            continue
        # With nothing running it is the file itself that cannot be read, or the end of its process.
        name = running or "(file)"
        text = f"{forked.how_it_ended(code)}\n{forked.tail(log)}"
        done[name] = _judge(path, {"name": name, "state": "failed", "text": text}, rules)
        if not running:
            break
    return list(done.values())


def read_rules(path: Path) -> Rules:
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["cause"]
    return [(re.compile(row["text"], re.S), row["cause"]) for row in rows]


def _judge(path: Path, record: dict[str, Any], rules: Rules) -> Case:
    text = record.get("text", "")
    cause = find_cause(text, rules)
    if record["state"] != "failed":
        cause = text.strip().splitlines()[-1][:160] if record["state"] == "skipped" and text.strip() else ""
    return Case(path.name, record["name"], record["state"], cause, text[-3000:] if cause else "")


def find_cause(text: str, rules: Rules) -> str:
    for pattern, cause in rules:
        if found := pattern.search(text):
            return found.expand(cause)
    lines = [line for line in text.strip().splitlines() if line and not line.startswith(_BESIDE)]
    return (lines or ["no output"])[-1][:120]


def summary(cases: list[Case]) -> str:
    """The figures, then the causes with their number of cases and one example each."""
    states = collections.Counter(case.state for case in cases)
    failed = [case for case in cases if case.state == "failed"]
    refused = [case for case in failed if case.cause.startswith("refused: ")]
    late = [case for case in failed if case.cause == "ran out of time"]
    counted = states["passed"] + len(failed)
    share = 100 * states["passed"] / counted if counted else 0.0
    lines = [
        f"passed {states['passed']} of {counted} ({share:.1f} %), "
        f"failed {len(failed) - len(refused) - len(late)}, refused by name {len(refused)}, "
        f"out of time {len(late)}; skipped by the tests {states['skipped']}"
    ]
    groups: dict[str, list[Case]] = collections.defaultdict(list)
    for case in failed:
        groups[case.cause].append(case)
    for cause, members in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        files = sorted({case.file for case in members})
        lines.append(f"{len(members):5}  {cause}")
        lines.append(f"       {', '.join(files[:4])}{' …' if len(files) > 4 else ''}")
    return "\n".join(lines)


def _line(cases: list[Case]) -> str:
    counts = collections.Counter(case.state for case in cases)
    return f"{cases[0].file if cases else '?'}: " + ", ".join(f"{n} {state}" for state, n in counts.items())


if __name__ == "__main__":
    sys.exit(main())
