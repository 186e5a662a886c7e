"""What the cage costs a program, beside the tools that do the same.

Usage: python bench/cage.py [--rounds N]

Each round starts `true` plainly, in the cage, in bubblewrap and in a scope of systemd, where these are there; the
smallest and the middle time of each count. The limit is for the cage alone: 50 ms more than the plain program.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from jumar.runtime import cage

_LIMIT = 50.0
_BUBBLE = ["bwrap", "--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--proc", "/proc",
           "--dev", "/dev", "--tmpfs", "/tmp", "true"]  # fmt: skip
_SYSTEMD = ["systemd-run", "--quiet", "--wait", "--pipe", "--property=PrivateNetwork=yes", "true"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    ways = {"plain": lambda: _run(["true"]), "cage": _caged}
    for name, words in (("bubblewrap", _BUBBLE), ("systemd-run", _SYSTEMD)):
        if shutil.which(words[0]) and subprocess.run(words, capture_output=True, check=False).returncode == 0:
            ways[name] = lambda words=words: _run(words)
        else:
            print(f"{name}: not here, or refused")
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            times[name].append(_time(way))
    base = min(times["plain"])
    for name, all_ in times.items():
        print(f"{name:12} {min(all_):6.1f} ms at best, {statistics.median(all_):6.1f} ms in the middle")
    cost = min(times["cage"]) - base
    print(f"{'cost':12} {cost:6.1f} ms (limit {_LIMIT:g}) {'ok' if cost <= _LIMIT else 'over'}")
    return int(cost > _LIMIT)


def _time(way: Callable[[], None]) -> float:
    begin = time.perf_counter()
    way()
    return (time.perf_counter() - begin) * 1000


def _run(words: list[str]) -> None:
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)


def _caged() -> None:
    world = cage.Cage(environ={"PATH": os.defpath}, cwd="/")
    with cage.start(world, ["true"]) as running:
        assert running.wait() == 0


if __name__ == "__main__":
    sys.exit(main())
