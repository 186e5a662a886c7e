"""Runs vllm-ascend's own tests on an emulated card, without its mocks, and counts what passed.

Usage: python tools/vllm_tests.py CLONE --python PY [--under PATH]... [--half tuned|held] [--cases N] [--limit S]
                                  [--out FILE]

CLONE is a checkout of vllm-ascend at the tag that PY has; PY is an interpreter with vllm-ascend, Jumar and pytest. The
tests are copied, and only they: the code under test is the installed one. `tests/ut/conftest.py` loses its mocks, and
`tests/e2e/conftest.py`, which needs modelscope, is left out. Each folder has a process; after a crash, another one goes
on behind the case that crashed. A hash of a file's path puts it into one of two halves: of the tuned one the failures
are shown, the held one is only counted. FILE keeps what was found: a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REGISTERS = """\
from vllm_ascend.utils import adapt_patch, register_ascend_customop

adapt_patch()
adapt_patch(True)
register_ascend_customop()
"""
"""What is left of `tests/ut/conftest.py` without its mocks."""
_WORKER = Path(__file__).with_name("vllm_tests_worker.py")
_PYTEST = ("-m", "jumar", "run", "python", "-m", "pytest", "-q")
_START = 300
"""Seconds that the imports may take."""
_ENDS = ("passed", "failed", "skipped", "crashed")


def main() -> int:
    options = _options()
    clone = Path(options.clone).resolve()
    if not (clone / "tests" / "ut").is_dir():
        print(f"error: `{options.clone}` is no checkout of vllm-ascend: it has no tests/ut", file=sys.stderr)
        return 2
    names = [name for under in options.under for name in listed(clone, under)]
    names = [name for name in names if options.half in (half_of(name), "both")]
    if not names:
        print(f"error: no tests under `{', '.join(options.under)}`", file=sys.stderr)
        return 2
    out = Path(options.out).resolve()
    out.touch()
    with tempfile.TemporaryDirectory() as scratch:
        copy(clone, Path(scratch))
        for _, files in itertools.groupby(names, key=lambda name: Path(name).parent):
            run(list(files), Path(scratch), out, options)
    print(summary(judge(out, names), shown=options.half != "held"))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("clone", help="a checkout of vllm-ascend")
    parser.add_argument("--python", required=True, help="interpreter with vllm-ascend, jumar and pytest")
    parser.add_argument("--under", nargs="*", default=["tests/ut"], help="folders or files below the checkout")
    parser.add_argument("--half", choices=("tuned", "held", "both"), default="both")
    parser.add_argument("--cases", type=int, default=10**9, help="at most so many cases of each test")
    parser.add_argument("--limit", type=int, default=300, help="seconds for a case")
    parser.add_argument("--out", default="vllm-tests.jsonl", help="a line per case; cases in it are not run again")
    return parser.parse_args()


def listed(clone: Path, under: str) -> list[str]:
    place = clone / under
    paths = [place] if place.is_file() else sorted(place.rglob("test_*.py"))
    return [path.relative_to(clone).as_posix() for path in paths]


def half_of(name: str) -> str:
    return "tuned" if hashlib.sha256(name.encode()).digest()[-1] % 2 == 0 else "held"


def copy(clone: Path, scratch: Path) -> None:
    """The tests without the mocks of the whole, and the plug-in that tells of cases."""
    shutil.copytree(clone / "tests", scratch / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    (scratch / "tests" / "ut" / "conftest.py").write_text(REGISTERS, encoding="utf-8")
    (scratch / "tests" / "e2e" / "conftest.py").unlink(missing_ok=True)
    shutil.copy(_WORKER, scratch)


def run(files: list[str], scratch: Path, out: Path, options: argparse.Namespace) -> None:
    """The cases of a folder, in as many processes as crash or hang, and one."""
    env = {**os.environ, "PATH": f"{Path(options.python).parent}:{os.environ['PATH']}", "PYTHONPATH": str(scratch)}
    env.update(MOST_CASES=str(options.cases), CASE_LIMIT=str(options.limit), CASES_TOLD=str(out))
    env.update(JUMAR_EXPLAIN="0", HF_HUB_OFFLINE="1")
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    words = [options.python, *_PYTEST, "-p", _WORKER.stem, "--continue-on-collection-errors", *files]
    while True:
        done = len(_lines(out))
        with (scratch / "said").open("w") as said:
            started = subprocess.Popen(
                words, cwd=scratch, env=env, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
            )
            _watch(started, out, options.limit)
        told = _lines(out)[done:]
        why = f"ended with code {started.returncode}: {_last(scratch / 'said')}"
        if not told:
            _tell(out, files[0], "crashed", why)
            return
        ended = {line["case"] for line in told if line["state"] in _ENDS}
        broken = [line["case"] for line in told if line["state"] == "started" and line["case"] not in ended]
        for case in broken:
            _tell(out, case, "crashed", why)
        if told[-1]["state"] == "finished" and not broken:
            return
        if not broken:
            _tell(out, told[-1]["case"], "crashed", why)


def _watch(started: subprocess.Popen[bytes], out: Path, limit: int) -> None:
    """Wait for its end; stop it when nothing was told for twice the time of a case."""
    while started.poll() is None:
        try:
            started.wait(5)
        except subprocess.TimeoutExpired:
            if time.time() - out.stat().st_mtime > 2 * limit + _START:
                os.killpg(started.pid, signal.SIGKILL)


def _lines(out: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def _tell(out: Path, case: str, state: str, why: str) -> None:
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"case": case, "state": state, "why": why}) + "\n")


def _last(said: Path) -> str:
    lines = [line for line in said.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def judge(out: Path, names: list[str]) -> dict[str, dict[str, dict[str, str]]]:
    """The cases of each file; a failure of one of its stages is the case's."""
    found: dict[str, dict[str, dict[str, str]]] = {name: {} for name in names}
    for line in _lines(out):
        cases = found.get(line["case"].split("::")[0])
        if cases is not None and line["state"] in _ENDS:
            before = cases.get(line["case"], line)
            cases[line["case"]] = before if before["state"] in ("failed", "crashed") else line
    return found


def summary(found: dict[str, dict[str, dict[str, str]]], shown: bool) -> str:
    """Figures of each folder and half, and the failures of the tuned half."""
    counts: dict[tuple[str, str], collections.Counter[str]] = collections.defaultdict(collections.Counter)
    lines: list[str] = []
    for name, cases in found.items():
        counts[Path(name).parent.as_posix(), half_of(name)].update(case["state"] for case in cases.values())
        if half_of(name) == "tuned" and shown:
            failed = [case for case in cases.values() if case["state"] not in ("passed", "skipped")]
            lines += [f"{case['case']}: {case['why']}" for case in failed]
    for (folder, half), states in sorted(counts.items()):
        lines.append(f"{folder} ({half}): " + ", ".join(f"{count} {state}" for state, count in sorted(states.items())))
    whole = sum(counts.values(), collections.Counter())
    return "\n".join([*lines, "all: " + ", ".join(f"{count} {state}" for state, count in sorted(whole.items()))])


if __name__ == "__main__":
    sys.exit(main())
