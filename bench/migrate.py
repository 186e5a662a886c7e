"""Speed and memory of `jumar migrate` against Python's own parser, ruff and libcst, in the same run.

usage: python bench/migrate.py [FOLDER...]

Without a folder it works on copies of the installed torch package's sources: real code, full of CUDA. Times are the
processor's; ruff and libcst are left out where they are not installed.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="jumar-bench-") as scratch:
        os.environ["XDG_CACHE_HOME"] = str(Path(scratch, "cache"))
        if len(sys.argv) > 1:
            trees = {Path(name).name[:20]: Path(name) for name in sys.argv[1:]}
        else:
            trees = {
                "100k": sample(Path(scratch, "small"), 100_000),
                "1M": sample(Path(scratch, "large"), 1_000_000),
            }
        print(f"{'tree':<20} {'files':>6} {'lines':>9}  {'what':<28} {'figure':>16}")
        print(f"{'one line':<20} {1:>6} {1:>9}  {'start-up of a run':<28} {start_up(Path(scratch, 'one')):>14.2f} s")
        for name, tree in trees.items():
            measure(name, tree)


def sample(to: Path, lines: int) -> Path:
    """Python files of the torch package until there are enough lines; generated giants are left out."""
    top = next(Path(path, "torch") for path in sys.path if Path(path, "torch", "nn").is_dir())
    have = 0
    for path in sorted(top.rglob("*.py"), key=lambda path: (len(path.parts), path)):
        raw = path.read_bytes()
        if have >= lines or len(raw) > 500_000:
            continue
        target = to / path.relative_to(top)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(raw)
        have += raw.count(b"\n")
    round_ = 0
    first = sorted(to.rglob("*.py"))
    while have < lines:
        round_ += 1
        for path in first:
            copy = to / f"copy{round_}" / path.relative_to(to)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            have += path.read_bytes().count(b"\n")
            if have >= lines:
                break
    return to


def measure(name: str, tree: Path) -> None:
    sources = [path.read_bytes() for path in sorted(tree.rglob("*.py"))]
    lines = sum(source.count(b"\n") for source in sources)

    def row(what: str, figure: str) -> None:
        print(f"{name:<20} {len(sources):>6} {lines:>9,}  {what:<28} {figure:>16}", flush=True)

    parse = parse_seconds(sources, ast.parse)
    row("ast.parse alone", f"{lines / parse:,.0f} lines/s")
    cpu, wall, peak = run(tree, "--jobs", "1", "--no-cache")
    row("jumar analyze, one process", f"{lines / cpu:,.0f} lines/s")
    row("  against ast.parse", f"{cpu / parse:.1f} x")
    for peer, seconds in peers(tree, sources):
        row(f"  against {peer}", f"{cpu / seconds:.2f} x")
    row("  peak memory", f"{peak / 1024:,.0f} MiB")
    _, both, _ = run(tree, "--no-cache")
    row("jumar analyze, all cores", f"{wall / both:.2f} x faster")
    run(tree)
    one = next(path for path in sorted(tree.rglob("*.py")) if path.stat().st_size > 2000)
    text = one.read_bytes()
    one.write_bytes(text + b"\n# edited\n")
    again, _, _ = run(tree)
    one.write_bytes(text)
    row("again, one file edited", f"{again:.2f} s")


def start_up(folder: Path) -> float:
    """The least of several runs on one file of one line."""
    folder.mkdir()
    (folder / "one.py").write_text("import torch; torch.zeros(3).cuda()\n")
    return min(run(folder, "--no-cache")[0] for _ in range(7))


def peers(tree: Path, sources: list[bytes]) -> Iterator[tuple[str, float]]:
    """What other tools need for the same files: all rules of ruff, and the tree that libcst makes of each."""
    ruff = shutil.which("ruff", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if ruff:
        command = [ruff, "check", "--isolated", "--no-cache", "--select", "ALL", "--exit-zero", "--quiet", str(tree)]
        yield "ruff, all rules", cpu_of(command)
    with contextlib.suppress(ImportError):
        libcst = importlib.import_module("libcst")
        some = sources[:: max(1, len(sources) // 60)]
        share = sum(map(len, some)) / max(1, sum(map(len, sources)))
        yield "libcst's parser", parse_seconds(some, libcst.parse_module) / share


def cpu_of(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def parse_seconds(sources: list[bytes], parse: Callable[[bytes], object]) -> float:
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for source in sources:
            with contextlib.suppress(Exception):
                parse(source)
    return time.process_time() - started


def run(tree: Path, *options: str) -> tuple[float, float, float]:
    """CPU seconds, wall seconds and peak memory (KiB) of one command with its report."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    command = [sys.executable, "-m", "jumar.cli.main", "analyze", str(tree), "--json", *options]
    watched = [sys.executable, "-I", "-S", "-c", _WATCH, *command]
    done = subprocess.run(watched, stdout=subprocess.PIPE, check=True)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, json.loads(done.stdout)


# A process of its own, so that the peak memory is that of this one command.
_WATCH = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
if code not in (0, 1):
    sys.exit(code)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


if __name__ == "__main__":
    main()
