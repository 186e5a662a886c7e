"""`mindspore.mint` as a whole against PyTorch, whose names and arguments it shares: values and gradients.

Usage: python tools/mindspore_mint.py --python PY [--only NAME,…] [--samples N] [--out FILE] [--record]

PY is an interpreter with mindspore. The samples are those of PyTorch's own databases of operators and modules, in
float32 (integers where an operator has no other), with PyTorch's results on the CPU; functions of `mint` run on them
on the emulated machine. A sample that `mint` does not take (an argument it does not have) is not counted;
mindspore_mint.toml has what differs in MindSpore itself. --record writes the figures for docs/results/mindspore.md.
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
from typing import NamedTuple

from conformance import find_cause, read_rules
from jumar.core.compat import tomllib
from jumar.emulate import mindspore
from mindspore_target import variables

_HERE = Path(__file__).parent
_RULES = _HERE / "mindspore_st.toml"
_OWN = Path(__file__).with_suffix(".toml")
_RECORD = _HERE.parent / "docs" / "results" / "data" / "mindspore_mint.json"
_MOST_RESTARTS = 60
STATES = ("passed", "own rule", "refused", "wrong", "failed", "not taken", "no sample")


class Row(NamedTuple):
    name: str
    state: str
    detail: str


def main() -> int:
    options = _options()
    only = set(filter(None, options.only.split(",")))
    with tempfile.TemporaryDirectory() as scratch:
        cases = Path(options.cases or f"{scratch}/cases")
        if not cases.exists():
            _make(cases, Path(scratch) / "names", options)
        results = _run(cases, Path(options.out or f"{scratch}/out"), only, options.python)
    rows = judge(results)
    if options.record:
        _write(rows, options.python)
    print(summary(rows))
    return 1 if any(row.state == "wrong" for row in rows) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="compare mindspore.mint on the emulator with PyTorch")
    parser.add_argument("--python", required=True, help="interpreter with mindspore")
    parser.add_argument("--only", default="", help="names such as add,nn.functional.gelu")
    parser.add_argument("--samples", type=int, default=6, help="at most so many of each operator")
    parser.add_argument("--cases", help="keep the samples in this file, and take them from there")
    parser.add_argument("--out", help="a line per sample; those in it are not run again")
    parser.add_argument("--record", action="store_true", help="write the figures for the results page")
    return parser.parse_args()


def _make(path: Path, names: Path, options: argparse.Namespace) -> None:
    """In a process without the extension for NPUs: the judge must not be what is judged."""
    alone = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "JUMAR_EMULATE": "0", "GLOG_v": "3"}
    ask = [options.python, str(_HERE / "mindspore_mint_worker.py"), str(names)]
    subprocess.run(ask, check=True, env=alone, stdout=subprocess.DEVNULL)
    command = [sys.executable, str(_HERE / "mindspore_mint_cases.py"), str(path), str(options.samples), str(names)]
    subprocess.run(command, check=True, env=alone)


def _run(cases: Path, out: Path, only: set[str], python: str) -> list[dict[str, str]]:
    """A sample that ends the process is noted; the next one goes on in a new process."""
    environ = {**os.environ, **variables(python, "Ascend", "mindspore-mint")}
    command = [python, str(_HERE / "mindspore_mint_worker.py"), str(cases), str(out), ",".join(sorted(only))]
    for _ in range(_MOST_RESTARTS):
        code = subprocess.run(command, env=environ, check=False, stdout=subprocess.DEVNULL).returncode
        if code == 0:
            break
        last = _lines(out)[-1] if _lines(out) else {"case": "", "state": ""}
        if last["state"] != "started":
            sys.exit(f"error: `{python}` ended with code {code} before the first sample")
        with out.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({**last, "state": "failed", "text": f"ended with code {code}"}) + "\n")
    return [row for row in _lines(out) if row["state"] != "started"]


def _lines(out: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] if out.exists() else []


def judge(results: list[dict[str, str]]) -> list[Row]:
    """A row per function: the worst of its samples that `mint` takes."""
    rules, own = read_rules(_RULES), tomllib.loads(_OWN.read_text(encoding="utf-8"))["own"]
    by_name: dict[str, list[Row]] = collections.defaultdict(list)
    for row in results:
        state, detail = row["state"], row["text"]
        if state == "error":
            state, _, detail = find_cause(f"E   {detail}", rules).partition(": ")
            state, detail = (state, detail) if state in STATES else ("failed", row["text"][-200:])
        if state == "wrong":
            fits = (rule for rule in own if re.search(rule["case"], row["case"]) and re.search(rule["text"], detail))
            state, detail = next((("own rule", rule["why"]) for rule in fits), (state, detail))
        by_name[row["name"]].append(Row(row["name"], state, detail))
    order = ("wrong", "failed", "refused", "own rule", "passed", "not taken", "no sample")
    return [min(rows, key=lambda row: order.index(row.state)) for _, rows in sorted(by_name.items())]


def summary(rows: list[Row]) -> str:
    counts = collections.Counter(row.state for row in rows)
    lines = [", ".join(f"{state} {counts[state]}" for state in STATES)]
    lines += [
        f"{row.state}: {row.name}: {row.detail[:150]}" for row in rows if row.state not in ("passed", "no sample")
    ]
    missing = [row.name for row in rows if row.state == "no sample"]
    return "\n".join([*lines, f"no sample: {', '.join(missing)}" if missing else ""])


def _write(rows: list[Row], python: str) -> None:
    record = {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "mindspore": mindspore.check(python).mindspore,
        "figures": {state: sum(row.state == state for row in rows) for state in STATES},
        "names": {state: [row.name for row in rows if row.state == state] for state in STATES[1:]},
    }
    _RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
