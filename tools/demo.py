"""`make demo`: the whole way on the example project, with the commands a user would type."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

TOP = Path(__file__).parents[1]
OUT = TOP / "out" / "demo"
BIN = Path(sys.executable).parent
LOSS = re.compile(r"(?:\[rank 0\] )?epoch (\d+) loss (\S+)")


def main() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    say("1. What ties the example to CUDA, and what becomes of it")
    run("jumar", "migrate", "examples/shapes", "--diff", "-o", "out/demo/shapes", "--html", "out/demo/report.html")
    say("2. Train the migrated project on an emulated NPU; after the first epoch, look at the card")
    train = ["jumar", "run", "out/demo/shapes/train.py", "--no-amp", "--output", "out/demo/run"]
    card = losses(*train, at_first_epoch=lambda: run("jumar", "emulate", "shell", "npu-smi", "info"))
    say("3. The same training on the CPU")
    cpu = losses(*train, "--device", "cpu")
    same = card == cpu and bool(cpu)
    say("4. Make it a program for many cards and train it on two emulated ones")
    run("jumar", "migrate", "examples/shapes", "--multi-card", "-o", "out/demo/two", "--quiet")
    launch = ["jumar", "launch", "--cards", "2", "--logs", "out/demo/logs"]
    two = losses(*launch, "out/demo/two/train.py", *train[3:-1], "out/demo/run-two")
    say("The result")
    print(f"  losses on two cards, where a step has twice the batch: {' '.join(two)}")
    print(f"  losses on the emulated NPU and on the CPU: {'equal' if same else f'DIFFERENT: {card} and {cpu}'}")
    print("  out/demo/shapes        the migrated project")
    print("  out/demo/report.html   the report: open it in a browser")
    if not same:
        sys.exit(1)


def say(title: str) -> None:
    print(f"\n\033[1m{title}\033[0m" if sys.stdout.isatty() else f"\n{title}", flush=True)


def environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}


def run(*command: str) -> None:
    print("$", *command, flush=True)
    code = subprocess.run(command, cwd=TOP, env=environment()).returncode
    if code not in (0, 1):
        sys.exit(f"`{' '.join(command)}` failed with exit code {code}")


def losses(*command: str, at_first_epoch: Callable[[], None] | None = None) -> list[str]:
    """Run a training, show what it prints, and return the loss of each epoch as it was printed."""
    print("$", *command, flush=True)
    found = []
    with subprocess.Popen(command, cwd=TOP, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            match = LOSS.match(line)
            if match:
                found.append(match.group(2))
                if at_first_epoch and len(found) == 1:
                    at_first_epoch()
    if process.returncode:
        sys.exit(f"`{' '.join(command)}` failed with exit code {process.returncode}")
    return found


if __name__ == "__main__":
    main()
