"""Installs a wheel in environments without a compiler, one per Python, and runs what the guides begin with.

Usage: python tools/bare.py WHEEL [--python 3.11]... [--pair TORCH==TORCH_NPU] [--cache DIR] [--keep]

Without --pair, each Python gets the newest tested pair that has wheels for it. Part of the release checklist.
"""

from __future__ import annotations

import argparse
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import version_environment
from jumar.emulate.dry import build as dry
from jumar.tables import tested

ROOT = Path(__file__).parents[1]
CHECKS = ROOT / "tools" / "pair_checks"
EXAMPLE = ROOT / "examples"
_COMPILER = re.compile(
    r"(.*-)?(cc|c\+\+|gcc|g\+\+|cpp|clang|clang\+\+|tcc|c89|c99|ld(\.\w+)?|as|make|cmake|ninja)(-[\d.]+)?$"
)
_FINE = {"migrate": (0, 1), "doctor": (0, 1, 3)}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", action="append", help="versions such as 3.11; all that are installed without it")
    parser.add_argument("--pair", help="TORCH==TORCH_NPU instead of the newest tested one")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "jumar-bare")
    parser.add_argument("--keep", action="store_true", help="keep the environments")
    options = parser.parse_args()
    failures = 0
    for name in options.python or tested.supported():
        start, pair = version_environment.python_of(name), _pair(name, options.pair)
        if start is None or pair is None:
            print(f"Python {name}: left out, {'no tested pair' if start else 'not installed here'}", flush=True)
            continue
        failures += try_one(name, start, pair, options)
    return 1 if failures else 0


def _pair(python: str, wanted: str | None) -> tuple[str, str] | None:
    if wanted:
        torch, _, npu = wanted.partition("==")
        return torch, npu
    return version_environment.newest(python, platform.machine())


def try_one(name: str, start: str, pair: tuple[str, str], options: argparse.Namespace) -> int:
    """The number of checks that failed."""
    folder = options.cache / name
    folder.mkdir(parents=True, exist_ok=True)
    python = version_environment.make(folder, start, *pair, options.wheel.resolve())
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for check, problem in checks(python, Path(scratch), pair):
            print(f"Python {name}, torch {pair[0]}: {check}: {problem or 'passed'}", flush=True)
            failed += bool(problem)
    if not options.keep:
        shutil.rmtree(folder)
    return failed


def checks(python: Path, scratch: Path, pair: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Each check with what went wrong, or nothing."""
    env = environment(python, scratch)
    yield "no compiler", "one is left" if any(shutil.which(word, path=env["PATH"]) for word in ("g++", "cc")) else ""
    shutil.copytree(EXAMPLE, scratch / "project")
    commands = {
        "version": ["--version"],
        "guide, cnn, gpt, half, fused": ["run", str(CHECKS / "single.py")],
        "two cards": ["launch", "--cards", "2", "--bind", "none", str(CHECKS / "ddp.py")],
        "record": ["compare", "record", "--floor", "0", "-o", "record", "--", str(python), str(CHECKS / "recorded.py")],
        "dry run": ["run", "--dry", str(CHECKS / "recorded.py")],
        "self-test": ["selftest", "--emulated", "--skip", "speed,commands", "-o", "selftest.zip"],
        "migrate": ["migrate", str(scratch / "project")],
        "doctor": ["doctor"],
    }
    if not dry.fits(pair[1]):
        del commands["dry run"]
    for name, words in commands.items():
        done = version_environment.run([str(python), "-m", "jumar", *words], scratch, env)
        yield name, problem(name, done)
    yield "recorder", version_environment.recorder(scratch / "record")
    yield "nothing was built", built(scratch)


def built(scratch: Path) -> str:
    """The libraries that were not taken from the wheel."""
    return ", ".join(path.name for path in (scratch / "cache").rglob("libjumar_*.so"))


def problem(name: str, done: subprocess.CompletedProcess[str]) -> str:
    """Doctor and migrate end with 1 where they have findings, and doctor with 3 where it cannot tell."""
    said = done.stdout + done.stderr
    if done.returncode not in _FINE.get(name, (0,)) or "Traceback" in said:
        return f"ended with {done.returncode}: {said[-600:]}"
    return said[-600:] if '"passed": false' in said else ""


def environment(python: Path, scratch: Path) -> dict[str, str]:
    """The variables of a machine without a compiler: its programs are there, the compilers are not."""
    programs = scratch / "bin"
    programs.mkdir()
    for folder in ("/usr/bin", "/bin", "/usr/sbin", "/sbin"):
        for path in Path(folder).iterdir() if Path(folder).is_dir() else ():
            if not _COMPILER.match(path.name) and not (programs / path.name).is_symlink():
                (programs / path.name).symlink_to(path)
    found = version_environment.variables(python, str(programs))
    kept = {name: value for name, value in found.items() if name not in ("CC", "CXX")}
    return {**kept, "HOME": str(scratch), "JUMAR_CACHE": str(scratch / "cache")}


if __name__ == "__main__":
    sys.exit(main())
