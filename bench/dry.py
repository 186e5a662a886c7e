"""How fast a dry run is: time per operator, and against the program's own Python time.

    python bench/dry.py [--layers 12] [--width 4096] [--steps 4]

One process trains a stack of transformer layers, once dry on an emulated card and once on torch's meta device, where
the program's own Python and autograd are all that is left. The difference is what the dry run adds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(__file__).with_name("dry_program.py")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("layers", 12), ("width", 4096), ("steps", 4)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    words = [str(PROGRAM), str(given.layers), str(given.width), str(given.steps)]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "dry.json"
        options = ["-m", "jumar", "run", "--dry", "--steps", "0", "--report", str(report)]
        dry = _run([sys.executable, *options, *words, "npu"])
        rank = json.loads(report.read_text(encoding="utf-8"))["ranks"][0]
    alone = _run([sys.executable, *words, "meta"])
    operators = rank["operators"]
    print(f"operators of a step            {operators}")
    print(f"dry, time per operator         {1e6 * dry / operators:.0f} us")
    print(f"program on meta, per operator  {1e6 * alone / operators:.0f} us")
    print(f"dry against the program        {dry / alone:.2f} x")
    print(f"memory of the card             {rank['memory']['peak'] / 2**30:.2f} GiB")
    print(f"memory of the host             {rank['host_bytes'] / 2**30:.2f} GiB")
    return 0


def _run(words: list[str]) -> float:
    """Seconds of processor time of a step after the first."""
    environ = {**os.environ, "JUMAR_EMULATE": "1", "JUMAR_QUIET": "1", "JUMAR_EXPLAIN": "0"}
    done = subprocess.run(words, env=environ, stdout=subprocess.PIPE, text=True, check=True)
    return float(next(line for line in done.stdout.splitlines() if line.startswith("seconds ")).split()[1])


if __name__ == "__main__":
    sys.exit(main())
