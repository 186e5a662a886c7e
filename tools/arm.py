"""Runs Jumar on aarch64 under qemu: C++ tests, torch_npu's and MindSpore's wheels for Arm, two ranks, the commands.

Usage: python tools/arm.py [--only PART]... [--build DIR] [--folder DIR] [--published WHEEL] [--write]

`make arm` does it all but the published wheel, which is tried where there is no compiler. The machine is made once in
the folder; the result goes to `result.json` there and, with --write, to docs/results/data/arm.json, from which
`tools/generate.py` makes docs/results/arm.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import arm_environment
import bare
import tested as tested_file
import version_environment
import versions

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "docs" / "results" / "data" / "arm.json"
PAIR = ("torch==2.7.1", "torch_npu==2.7.1")
"""A pair whose torch for Arm is a CPU build on the public index."""
PACKAGES = (
    "numpy<2.3", "filelock", "typing_extensions", "sympy", "networkx", "jinja2", "fsspec", "pyyaml", "decorator",
    "attrs", "psutil", "scipy", "click", "rich", "packaging", "setuptools<80",
)  # fmt: skip
"""What the pair and Jumar import."""
SAME_NUMBERS = ROOT / "tools" / "arm_checks" / "same_numbers.py"
PAGE = 64 << 10
"""Bytes to a page of many kernels for Arm servers."""
LIMIT = 9000
"""Seconds for one program under qemu, on a busy machine."""
Row = dict[str, Any]


class Machine(NamedTuple):
    """Where everything of one run is."""

    folder: Path
    root: Path
    build: Path
    wheel: Path
    published: Path | None = None

    def torch(self, wheel: Path | None = None) -> Path:
        python = arm_environment.environment(self.folder, "torch", self.root, PACKAGES, PAIR)
        arm_environment.install(python.parents[1], "--no-deps", str(wheel or self.wheel))
        return python

    def mindspore(self) -> Path:
        wanted = tuple(tested_file.requirements("mindspore", tested_file.read()))
        return arm_environment.environment(self.folder, "mindspore", self.root, wanted)


def native(machine: Machine, page: int = 0) -> Iterator[tuple[str, str]]:
    """The C++ tests, each with what went wrong."""
    for test in sorted((machine.build / "native" / "tests").glob("*_test")):
        done = _run(machine, arm_environment.command(machine.root, test, page=page))
        yield test.name, "" if done.returncode == 0 else versions._last(done)


def native_pages(machine: Machine) -> Iterator[tuple[str, str]]:
    return native(machine, PAGE)


def torch_checks(machine: Machine) -> Iterator[tuple[str, str]]:
    """The checks of a pair, as tools/versions.py has them for x86-64."""
    python = machine.torch()
    os.environ.update(arm_environment.variables(machine.folder, python))
    yield from versions.checks(python, machine.folder)


def commands(machine: Machine) -> Iterator[tuple[str, str]]:
    """Jumar's own commands on the emulated machine."""
    jumar = [str(machine.torch()), "-m", "jumar"]
    here, there = (_run(machine, [python, str(SAME_NUMBERS)]) for python in (sys.executable, jumar[0]))
    same = there.returncode == 0 and here.stdout == there.stdout
    yield "same-numbers", "" if same else f"{here.stdout!r} is {there.stdout!r}"[:200]
    done = _run(machine, [*jumar, "emulate", "shell", "npu-smi", "info"])
    yield "npu-smi", "" if done.returncode == 0 and "910B3" in done.stdout else versions._last(done)
    done = _run(machine, [*jumar, "emulate", "shell", *jumar, "smi", "--once"])
    yield "smi", "" if done.returncode == 0 and "910B3" in done.stdout else versions._last(done)
    yield "doctor", _doctor(machine, jumar)
    done = _run(machine, [*jumar, "plan", "--chip", "910B3"])
    yield "plan", "" if done.returncode == 0 and "aarch64" in done.stdout else versions._last(done)


def _doctor(machine: Machine, jumar: list[str]) -> str:
    """What is wrong; that this CANN is not the one of the pair (exit code 3) has nothing to do with Arm."""
    done = _run(machine, [*jumar, "emulate", "shell", *jumar, "doctor", "--verbose"])
    errors = [line for line in done.stdout.splitlines() if " error " in line]
    fine = done.returncode in (0, 3) and "aarch64" in done.stdout
    return "" if fine and not errors else (errors or [versions._last(done)])[0][:200]


def mindspore(machine: Machine) -> Iterator[tuple[str, str]]:
    """MindSpore's own check on an emulated card, as its guide has it."""
    program = "import mindspore as ms; ms.set_device('Ascend'); ms.run_check()"
    words = [str(machine.torch()), "-m", "jumar", "run", "--python", str(machine.mindspore()), "-c", program]
    done = _run(machine, words)
    fine = done.returncode == 0 and "successfully" in done.stdout + done.stderr
    yield "run_check", "" if fine else versions._last(done)


def published(machine: Machine) -> Iterator[tuple[str, str]]:
    """The wheel that users install: what it brings along is enough."""
    python = machine.torch(machine.published)
    with tempfile.TemporaryDirectory() as text:
        scratch = Path(text)
        env = bare.environment(python, scratch)
        jumar = [str(python), "-m", "jumar"]
        done = version_environment.run([*jumar, "run", str(versions.CHECKS / "single.py")], scratch, env)
        yield "all", bare.problem("all", done)
        record = ["compare", "record", "--floor", "0", "-o", "record", "--"]
        done = version_environment.run(
            [*jumar, *record, str(python), str(versions.CHECKS / "recorded.py")], scratch, env
        )
        yield "compare", bare.problem("compare", done)
        yield "recorder", version_environment.recorder(scratch / "record")
        yield "built", bare.built(scratch)


PARTS: dict[str, Callable[[Machine], Iterator[tuple[str, str]]]] = {
    "native": native, "native-64k": native_pages, "torch": torch_checks, "commands": commands, "mindspore": mindspore,
    "wheel": published,
}  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    options = _options(argv)
    lacks = arm_environment.missing()
    if options.check and not lacks:
        return 0
    if lacks:
        print(
            f"error: programs for Arm cannot be built or run here\n\nhint: sudo apt install {' '.join(lacks)}",
            file=sys.stderr,
        )
        return 2
    folder = Path(os.path.abspath(options.folder))
    version_environment.LIMIT = LIMIT
    try:
        build = Path(os.path.abspath(options.build))
        wheel = _wheel(build, options)
        machine = Machine(folder, arm_environment.root(folder), build / "build", wheel, options.published)
        parts = []
        for name in options.only or (name for name in PARTS if name != "wheel" or options.published):
            parts.append(_part(name, machine))
            _keep(parts[-1], folder / "result.json", *([RECORD] if options.write else []))
    except RuntimeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 1 if any(row["problem"] for part in parts for row in part["rows"]) else 0


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--build", default=ROOT / "build" / "native-aarch64", help="what `make native ARCH=aarch64` made"
    )
    parser.add_argument("--folder", default=ROOT / "build" / "arm", help="folder of the machine, which is kept")
    parser.add_argument("--published", type=Path, help="a wheel of `make wheels`, for the part `wheel`")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="run only this part; repeatable")
    parser.add_argument("--check", action="store_true", help="only see whether this machine has what is needed")
    parser.add_argument("--write", action="store_true", help="also write docs/results/data/arm.json")
    options = parser.parse_args(argv)
    if "wheel" in (options.only or ()) and not options.published:
        parser.error("`--only wheel` needs `--published WHEEL`")
    return options


def _wheel(build: Path, options: argparse.Namespace) -> Path:
    """The wheel of the build; the published one needs none beside it."""
    found = sorted(build.glob("jumar-*.whl"))
    if not found and options.only != ["wheel"]:
        raise RuntimeError(f"no wheel in `{build}`\n\nhint: make native ARCH=aarch64")
    return found[0] if found else Path(options.published)


def _part(name: str, machine: Machine) -> Row:
    rows, start = [], time.monotonic()
    for check, problem in PARTS[name](machine):
        print(f"{name}: {check}: {problem or 'passed'}", flush=True)
        rows.append({"check": check, "problem": problem})
    today = datetime.date.today().isoformat()
    return {"name": name, "date": today, "seconds": round(time.monotonic() - start), "rows": rows}


def _run(machine: Machine, words: list[str]) -> subprocess.CompletedProcess[str]:
    own = arm_environment.variables(machine.folder, machine.folder / "torch" / "bin" / "python")
    env = {**os.environ, **own, "JUMAR_EXPLAIN": "0", "OMP_NUM_THREADS": "1"}
    return version_environment.run(words, machine.folder, env)


def _about() -> Row:
    def first(*words: str) -> str:
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.splitlines()[0]

    return {
        "qemu": first(arm_environment.QEMU, "--version").split("version ")[-1].split()[0],
        "compiler": first(arm_environment.COMPILER, "-dumpfullversion"),
        "cpu": arm_environment.CPU,
        "python": arm_environment.PYTHON,
        "packages": [*PAIR, tested_file.requirements("mindspore", tested_file.read())[0]],
    }


def _keep(part: Row, *files: Path) -> None:
    """Write what was found; the other parts stay as they were."""
    for file in files:
        old = json.loads(file.read_text(encoding="utf-8"))["parts"] if file.exists() else []
        known = {each["name"]: each for each in (*old, part)}
        record = {**_about(), "parts": [known[name] for name in PARTS if name in known]}
        file.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
