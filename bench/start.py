"""What an installed Jumar costs every start of Python that asks nothing of it.

Usage: python bench/start.py [--rounds N]

Python reads the .pth files of a virtual environment twice. Each round is a new interpreter that does so with a folder
without jumar.pth, and one that does so with it; the smallest time of each counts. `beside torch_npu` is the longest way
through that file: the import error of torch_npu is waited for.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

_SITE = Path(sysconfig.get_paths()["purelib"])
_LIMITS = {"jumar": 0.2, "beside torch_npu": 0.6}
_PROGRAM = """
import site, sys, time
start = time.perf_counter()
for _ in range(2):
    site.addsitedir(sys.argv[1], set())
print(time.perf_counter() - start)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as top:
        folders = {name: _folder(Path(top) / name.replace(" ", "-"), name) for name in ("nothing", *_LIMITS)}
        times: dict[str, list[float]] = {name: [] for name in folders}
        for _ in range(rounds):
            for name, folder in folders.items():
                times[name].append(_start(folder))
    base, late = min(times["nothing"]), False
    for name, limit in _LIMITS.items():
        cost = min(times[name]) - base
        late |= cost > limit
        print(f"{name:18} {cost:6.3f} ms (limit {limit}) {'ok' if cost <= limit else 'over'}")
    return 1 if late else 0


def _folder(path: Path, name: str) -> Path:
    path.mkdir()
    (path / "jumar").symlink_to(_SITE / "jumar")
    if name != "nothing":
        shutil.copy(_SITE / "jumar.pth", path)
    if name == "beside torch_npu":
        (path / "torch_npu").mkdir()
    return path


def _start(folder: Path) -> float:
    """Milliseconds that a new interpreter takes for the .pth files of a folder."""
    command = [sys.executable, "-I", "-S", "-c", _PROGRAM, str(folder)]
    return float(subprocess.run(command, env={}, capture_output=True, check=True).stdout) * 1000


if __name__ == "__main__":
    sys.exit(main())
