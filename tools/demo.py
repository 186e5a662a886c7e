"""`make demo`: the main job on the example project, with the commands a user would type."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[1]
OUT = TOP / "out" / "demo"


def main() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    say("What ties the example to CUDA, and what becomes of it")
    jumar("migrate", "examples/shapes", "-o", "out/demo/shapes", "--html", "out/demo/report.html")
    say("What an id means")
    jumar("explain", "PT101", quiet=True)
    say("The result")
    print("  out/demo/shapes        the migrated project")
    print("  out/demo/report.html   the report: open it in a browser")


def say(title: str) -> None:
    print(f"\n\033[1m{title}\033[0m" if sys.stdout.isatty() else f"\n{title}", flush=True)


def jumar(*args: str, quiet: bool = False) -> None:
    print("$ jumar", *args, flush=True)
    command = [str(Path(sys.executable).with_name("jumar")), *args]
    done = subprocess.run(command, cwd=TOP, stdout=subprocess.PIPE if quiet else None, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"`jumar {' '.join(args)}` failed with exit code {done.returncode}")
    if quiet:
        print("\n".join(done.stdout.splitlines()[:12]))


if __name__ == "__main__":
    main()
