"""Runs the guide's checks and some training with releases of MindSpore, each against its own CPU target.

Usage: python tools/mindspore_versions.py PY… [--only CHECK,…] [--record]

Each PY is an interpreter with one release. --record writes the row of each release for docs/results/mindspore.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from packaging.version import Version

import mindspore_parallel
import version_environment
from jumar.emulate import mindspore
from jumar.parallel.prove import reason_in

_TOP = Path(__file__).parents[1]
_PROGRAMS = _TOP / "tests" / "emulate" / "programs"
_GUIDE = _TOP / "docs" / "guides" / "mindspore.md"
_RECORD = _TOP / "docs" / "results" / "data" / "mindspore_versions.json"
_ASK = 'import mindspore as ms; ms.set_device("Ascend"); ms.run_check()'
_LIMIT = 1500
"""Seconds for one program."""
_CARDS = ("data", "semi-auto", "pipeline")


def main() -> int:
    options = _options()
    failed = False
    for python in options.python:
        version = mindspore.check(python).mindspore
        row: dict[str, str] = {}
        for name in options.only.split(",") if options.only else CHECKS:
            row[name] = CHECKS[name](python)
            print(f"mindspore {version}, {name}: {row[name] or 'passed'}", flush=True)
        failed = failed or any(row.values())
        if options.record:
            _record(version, version_environment.version_of(Path(python)), row)
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("python", nargs="+", help="interpreters with mindspore")
    parser.add_argument("--only", default="", help=f"some of {', '.join(CHECKS)}")
    parser.add_argument("--record", action="store_true", help="write the rows for the results page")
    return parser.parse_args()


def _guide(python: str) -> str:
    """The two checks of the guide, as they stand there."""
    match = re.search(r"`check\.py`.*?```python\n(.*?)```", _GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert match, "the guide has no check.py"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "check.py").write_text(match[1], encoding="utf-8")
        for words, wanted in ((["check.py"], "[ 4. 10. 18.]"), (["-c", _ASK], "platform [Ascend] successfully")):
            done = _run(python, words, folder)
            if wanted not in done.stdout:
                return reason_in(done.stdout + done.stderr)
    return ""


def _training(python: str) -> str:
    return _as_on_cpu(python, "mindspore_training.py", [], 2e-5)


def _graph(python: str) -> str:
    return _as_on_cpu(python, "mindspore_networks.py", ["graph"], 1e-2)  # float16 inside


def _pynative(python: str) -> str:
    return _as_on_cpu(python, "mindspore_networks.py", ["pynative"], 1e-2)


def _as_on_cpu(python: str, program: str, words: list[str], near: float) -> str:
    """What differs from the CPU target of the same release; empty if nothing does."""
    found: dict[str, dict[str, list[float]]] = {}
    for target in ("Ascend", "CPU"):
        with tempfile.TemporaryDirectory() as folder:
            done = _run(python, [str(_PROGRAMS / program), target, *words], folder)
        lines = [line for line in done.stdout.splitlines() if line.startswith('{"')]
        if not lines:
            return f"{target}: {reason_in(done.stdout + done.stderr)}"
        found[target] = json.loads(lines[-1])
    return differs(found["Ascend"], found["CPU"], near)


def differs(found: dict[str, list[float]], wanted: dict[str, list[float]], near: float) -> str:
    """The figures that are farther off than `near`; what the CPU target does not have is not compared."""
    wrong = []
    for name, row in wanted.items():
        if len(found.get(name, [])) != len(row):
            wrong.append(f"{name} is missing")
            continue
        off = max(_off(one, other) for one, other in zip(found[name], row, strict=True))
        if not off <= near:  # not a number is far off too
            wrong.append(f"{name} is off by {off:.2g}")
    return ", ".join(wrong)


def _off(one: float, other: float) -> float:
    return abs(one - other) / max(abs(other), 1e-12)


def _two_cards(python: str) -> str:
    """Three parallel modes on two cards against one."""
    alone, *rest = mindspore_parallel.run(python, 1, [*_CARDS]), mindspore_parallel.run(python, 2, [*_CARDS])
    verdicts = mindspore_parallel.compare(alone[0], rest[0]) if alone[0] else {"one card": "no result"}
    return ", ".join(f"{mode}: {text.splitlines()[0]}" for mode, text in verdicts.items() if text != "equal")


def _run(python: str, words: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "GLOG_v": "3", "JUMAR_EMULATE": "1", "DNNL_MAX_CPU_ISA": "AVX2", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "jumar", "run", "--python", python, *words]
    try:
        return subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=_LIMIT, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"no end within {_LIMIT} s")


def _record(version: str, python: str, row: dict[str, str]) -> None:
    """Checks of this release that were not run now keep what they gave before."""
    rows: dict[str, Any] = {}
    if _RECORD.exists():
        rows = json.loads(_RECORD.read_text(encoding="utf-8"))["rows"]
    before = rows.get(version, {}).get("checks", {})
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    rows[version] = {"python": python, "date": today, "checks": {**before, **row}}
    newest = dict(sorted(rows.items(), key=lambda item: Version(item[0]), reverse=True))
    _RECORD.write_text(json.dumps({"rows": newest}, indent=1) + "\n", encoding="utf-8")


CHECKS: dict[str, Callable[[str], str]] = {
    "guide": _guide, "training": _training, "graph": _graph, "pynative": _pynative, "two cards": _two_cards,
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(main())
