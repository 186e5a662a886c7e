"""Runs the stacks of examples/ecosystem on emulated cards and on the CPU, and writes what happened.

Usage: python tools/ecosystem.py [NAME]... [--only WORDS]... [--cache DIR] [--keep] [--wheel FILE]

Each stack has an environment of its own with the default pair of torch and torch_npu. The rows go to
docs/results/data/ecosystem.json, and `tools/generate.py` makes docs/results/ecosystem.md from them. Exit code 1 says
that losses or tokens which were equal are not any more.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import version_environment
from jumar.tables import tested
from jumar.tables import versions as versions_table

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "ecosystem"
ROWS = ROOT / "docs" / "results" / "data" / "ecosystem.json"
_STEP = re.compile(r"step (\d+) (loss|token) (\S+) on (\w+)")
_ERROR = re.compile(r"^\s*(?:\[rank ?\d+\]:?\s+)*([\w.]*(?:Error|Exception|Exit)\b.*)$", re.M)
_PATH = re.compile(r"/[^\s`']+")
_LIMIT = 1200
_CLOSE = 2e-5
"""Losses that differ by less, of their size, are equal: sums over ranks are taken in another order. A run in half
precision has `close` of its own. Tokens are equal when they are the same."""


class Told(NamedTuple):
    """What a run printed: a loss or a token for each step."""

    kind: str
    by_step: dict[int, float]


def main() -> int:
    options = _options()
    cache = Path(options.cache)
    cache.mkdir(parents=True, exist_ok=True)
    wanted = [row for row in stacks() if not options.names or row["name"] in options.names]
    if options.only:
        wanted = [row for row in wanted if any(words in told(row) for words in options.only)]
    if unknown := set(options.names) - {row["name"] for row in wanted}:
        raise SystemExit(f"error: no stack `{', '.join(sorted(unknown))}` in examples/ecosystem/stacks.toml")
    jumar = Path(options.wheel).resolve() if options.wheel else version_environment.wheel(cache / "wheel", ROOT)
    lost = 0
    for name, rows in itertools.groupby(wanted, key=lambda row: row["name"]):
        place = cache / f"stack-{name}"
        for row in rows:
            found = try_stack(row, place, jumar)
            lost += write(found) == "equal" != found["state"]
            print(f"{found['name']} {found['command']}: {found['state']} {found['why']}".strip(), flush=True)
        if not options.keep:
            shutil.rmtree(place, ignore_errors=True)
    return 1 if lost else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="stacks; without any, all of them")
    parser.add_argument("--only", action="append", metavar="WORDS", help="runs whose command has these words")
    parser.add_argument("--cache", default=Path.home() / ".cache" / "jumar-ecosystem", help="folder of environments")
    parser.add_argument("--wheel", help="a wheel of jumar; without it, one is built from this tree")
    parser.add_argument("--keep", action="store_true", help="keep the environments")
    return parser.parse_args()


def stacks() -> list[dict[str, Any]]:
    """A row for each run of each stack."""
    known = tomllib.loads((EXAMPLES / "stacks.toml").read_text(encoding="utf-8"))["stack"]
    return [{**stack, **run} for stack in known for run in stack.pop("runs", [{}])]


def try_stack(row: dict[str, Any], place: Path, jumar: Path) -> dict[str, Any]:
    """What is written about a stack: `equal`, `differs`, `fails` or `not installed`, and why."""
    found = {
        "name": row["name"], "command": told(row), "versions": "",
        "state": "not installed", "why": "", "steps": 0, "kind": "loss", "date": datetime.date.today().isoformat(),
    }  # fmt: skip
    try:
        python = install(row, place, jumar)
    except (RuntimeError, subprocess.CalledProcessError) as error:
        return {**found, "why": _PATH.sub("…", str(error))[:200]}
    found["versions"] = versions(python, row)
    script = str(EXAMPLES / row["script"])
    ours, problem = losses(python, command(row, script), "npu")
    if problem:
        return {**found, "state": "fails", "why": problem}
    found.update(steps=len(ours.by_step), kind=ours.kind)
    theirs, problem = losses(python, [*command(row, script), "--cpu"], "cpu")
    if problem:
        return {**found, "state": "runs", "why": f"the run on the CPU failed: {problem}"}
    if "close" in row:
        found["close"] = row["close"]
    worst = furthest(ours, theirs)
    if worst > (row.get("close", _CLOSE) if ours.kind == "loss" else 0):
        return {**found, "state": "differs", "why": f"by up to {worst:.2g}"}
    return {**found, "state": "equal"}


def told(row: dict[str, Any]) -> str:
    """The command as a user types it."""
    return shlex.join(["jumar", *command(row, row["script"])])


def command(row: dict[str, Any], script: str) -> list[str]:
    """The words after `jumar`."""
    verb = ["launch", "--cards", str(row["cards"])] if "cards" in row else ["run"]
    return [*verb, *row.get("options", []), script, *row.get("arguments", [])]


def install(row: dict[str, Any], place: Path, jumar: Path) -> Path:
    """The stack's environment; rows of one name share it."""
    pair = versions_table.release_for(row["torch"]) if "torch" in row else tested.pair()
    if pair is None:
        raise RuntimeError(f"no release of torch_npu for torch {row['torch']}")
    version = ".".join(map(str, sys.version_info[:2]))
    python = version_environment.make(
        place, version_environment.python_of(version) or sys.executable, pair.torch, pair.torch_npu, jumar
    )
    done = python.parents[1] / "stack"
    if not done.exists():
        fixed = place / "constraints.txt"
        fixed.write_text(f"torch=={pair.torch}\ntorch_npu=={pair.torch_npu}\n", encoding="utf-8")
        if row.get("packages"):
            add(python, "--constraint", str(fixed), *row["packages"])
        if row.get("alone"):
            add(python, "--no-deps", *row["alone"])
        done.touch()
    return python


def add(python: Path, *words: str) -> None:
    """A package that is built here may import torch, which would load torch_npu, and that finds no CANN."""
    name, own = "TORCH_DEVICE_BACKEND_AUTOLOAD", os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD")
    os.environ[name] = "0"
    try:
        version_environment.install(python, *words)
    finally:
        os.environ.pop(name) if own is None else os.environ.update({name: own})


def versions(python: Path, row: dict[str, Any]) -> str:
    """The pair and the stack; of a stack with many packages, those that are pinned or installed alone."""
    packages, alone = row.get("packages", []), row.get("alone", [])
    words = [*alone, *(word for word in packages if "==" in word)] or packages
    names = ["torch", "torch_npu", *(re.split(r"[\[=<>!~ ]", word)[0] for word in words)]
    asks = "import importlib.metadata as m, sys; print(*(m.version(name).split('+')[0] for name in sys.argv[1:]))"
    done = subprocess.run([str(python), "-c", asks, *names], capture_output=True, text=True, check=True)
    return ", ".join(map(" ".join, zip(names, done.stdout.split(), strict=True)))


def losses(python: Path, words: list[str], device: str) -> tuple[Told, str]:
    """The losses or tokens by step, and what went wrong if anything did."""
    nothing = Told("loss", {})
    env = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}", "JUMAR_EXPLAIN": "0", "OMP_NUM_THREADS": "1"}
    env.update({"DS_ACCELERATOR": device, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"})
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # Without compiled modules, each start of torch costs ten times the work.
    # A build that was killed leaves a lock, for which every later run would wait: not in the user's own folder.
    env["TORCH_EXTENSIONS_DIR"] = str(python.parents[1] / "extensions")
    try:
        done = subprocess.run(
            [str(python), "-m", "jumar", *words],
            cwd=python.parents[1],
            env=env,
            capture_output=True,
            text=True,
            timeout=_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return nothing, f"no end after {_LIMIT} s"
    text = done.stdout + done.stderr
    found = _STEP.findall(text)
    if done.returncode:
        said = _ERROR.findall(text)
        return nothing, _PATH.sub("…", said[-1] if said else f"ended with code {done.returncode}")[:200]
    if not found or {where for *_, where in found} != {device}:
        return nothing, f"no losses on {device}"
    return Told(found[0][1], {int(step): float(value) for step, _, value, _ in found}), ""


def furthest(ours: Told, theirs: Told) -> float:
    """The largest difference of a step's losses or tokens, of their size."""
    if ours.kind != theirs.kind or ours.by_step.keys() != theirs.by_step.keys():
        return float("inf")
    pairs = ((value, theirs.by_step[step]) for step, value in ours.by_step.items())
    return max(abs(one - other) / max(abs(other), 1e-3) for one, other in pairs)


def write(row: dict[str, Any]) -> str:
    """Put the row in the place of the one with the same name and command, and tell that one's state."""
    rows = json.loads(ROWS.read_text(encoding="utf-8")) if ROWS.exists() else []
    known = {(one["name"], one["command"]): one for one in rows}
    before = known.get((row["name"], row["command"]), {}).get("state", "")
    known[row["name"], row["command"]] = row
    ordered = sorted(known.values(), key=lambda one: (one["name"], one["command"]))
    ROWS.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return str(before)


if __name__ == "__main__":
    sys.exit(main())
