"""The examples in the documentation of MindSpore's functions, run on the emulated machine.

Usage: python tools/mindspore_examples.py --python PY [--jobs N] [--filter REGEX] [--out FILE] [--record]

PY is an interpreter with mindspore. Every function, class and method that is documented for Ascend and has an example
is run as it is written; what it prints is compared with the text beside it. What differs or fails is run on MindSpore's
CPU target: the same there says that the example, or MindSpore, is to blame. Numbers that an example draws depend on the
device. FILE keeps a line per name: a run that was stopped goes on. --record writes the figures for
docs/results/mindspore.md.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from conformance import find_cause, read_rules
from jumar.emulate import mindspore
from mindspore_mint import Row
from mindspore_target import variables

_HERE = Path(__file__).parent
_RULES = _HERE / "mindspore_st.toml"
_RECORD = _HERE.parent / "docs" / "results" / "data" / "mindspore_examples.json"
_DRAWS = re.compile(
    "rand|normal|uniform|multinomial|dropout|poisson|gamma|cauchy|bernoulli|seed|shuffle", re.IGNORECASE
)
# An example that needs what its text does not have: names, files, packages, other processes, or correct Python.
_UNFIT = re.compile(r"^(NameError|FileNotFound|NotADirectory|ModuleNotFound|ImportError)|\n(Syntax|Indentation)Error|"
                    r"/path/to/|RANK_ID|source code not available|could not get source|does not exist")  # fmt: skip
STATES = ("passed", "drawn", "refused", "differs", "failed", "not runnable", "own")


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(options.out or f"{scratch}/out")
        found = _run(out, None, options, "Ascend")
        failed = [name for name, row in found.items() if row["rows"]]
        on_cpu = _run(Path(f"{out}.cpu"), failed, options, "CPU")
    rows = judge(found, on_cpu)
    if options.record:
        _write(rows, options.python)
    print(summary(rows))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="run the documented examples of MindSpore on the emulator")
    parser.add_argument("--python", required=True, help="interpreter with mindspore")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--memory", type=int, default=8, help="GiB that an example may take")
    parser.add_argument("--filter", default="", help="only names that fit this regular expression")
    parser.add_argument("--out", help="a line per name; those in it are not run again")
    parser.add_argument("--record", action="store_true", help="write the figures for the results page")
    options = parser.parse_args()
    options.python = os.path.abspath(options.python)  # workers start in a folder of their own
    return options


def _run(out: Path, names: list[str] | None, options: argparse.Namespace, target: str) -> dict[str, dict[str, Any]]:
    """Workers side by side; None stands for all names."""
    environ = {**os.environ, **variables(options.python, target, "mindspore-examples")}
    with tempfile.TemporaryDirectory() as scratch:
        running = []
        for part in range(options.jobs):
            job = Path(scratch) / f"job{part}"
            order = {"filter": options.filter, "only": names, "done": sorted(read(out)), "out": str(out.resolve()),
                     "memory": options.memory << 30, "part": part, "parts": options.jobs}  # fmt: skip
            job.write_text(json.dumps(order), encoding="utf-8")
            command = [options.python, str(_HERE / "mindspore_examples_worker.py"), str(job)]
            running.append(subprocess.Popen(command, env=environ, cwd=scratch, stdout=subprocess.DEVNULL))
        for worker in running:
            worker.wait()
    return read(out)


def read(out: Path) -> dict[str, dict[str, Any]]:
    if not out.exists():
        return {}
    lines = (json.loads(line) for line in out.read_text(encoding="utf-8").splitlines() if line.endswith("}"))
    return {row["name"]: row for row in lines}


def judge(found: dict[str, dict[str, Any]], on_cpu: dict[str, dict[str, Any]]) -> list[Row]:
    rules = read_rules(_RULES)
    rows = []
    for name, row in sorted(found.items()):
        if not row["rows"]:
            rows.append(Row(name, "passed", ""))
            continue
        first = row["rows"][0]
        there = on_cpu.get(name, {"rows": []})["rows"]
        cause = find_cause(f"E   {first['text']}", rules)
        if _UNFIT.search(first["text"]) or cause.startswith("not runnable"):
            state = "not runnable"
        elif cause.startswith("refused"):
            state = "refused"
        elif there and (there[0]["source"], there[0]["state"]) == (first["source"], first["state"]):
            state = "own"
        elif first["state"] == "differs":
            state = "drawn" if _DRAWS.search(row["source"]) else "differs"
        else:
            state = "failed"
        rows.append(Row(name, state, " ".join(first["text"].split())))
    return rows


def summary(rows: list[Row]) -> str:
    counts = collections.Counter(row.state for row in rows)
    lines = [", ".join(f"{state} {counts[state]}" for state in STATES)]
    lines += [f"{row.state}: {row.name}: {row.detail[:200]}" for row in rows if row.state in STATES[1:5]]
    return "\n".join(lines)


def _write(rows: list[Row], python: str) -> None:
    record = {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "mindspore": mindspore.check(python).mindspore,
        "figures": {state: sum(row.state == state for row in rows) for state in STATES},
        "names": {state: [row.name for row in rows if row.state == state] for state in STATES[2:5]},
    }
    _RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
