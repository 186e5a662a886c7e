"""How fast a dry run is: time per operator, and against the program's own Python time.

    python bench/dry.py [--layers 12] [--width 4096] [--steps 4]
    python bench/dry.py --large          jobs for 8, 64 and 512 cards; needs transformers and megatron-core

One process trains a stack of transformer layers, once dry on an emulated card and once on torch's meta device, where
the program's own Python and autograd are all that is left. The difference is what the dry run adds.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = Path(__file__).with_name("dry_program.py")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("layers", 12), ("width", 4096), ("steps", 4)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--large", action="store_true")
    given = parser.parse_args()
    if given.large:
        return large()
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


LARGE = {
    "Llama 7B, FSDP2, 8 cards": ("8", "0", "dry_llama.py", "7b", "1"),
    "Llama 70B, TP 8 x FSDP2, 64 cards": ("64", "9", "dry_llama.py", "70b", "8"),
    "Llama 3.1 8B, FSDP2, 8 cards, 2 x 8,192 tokens, selective": (
        "8", "0", "dry_llama.py", "8b", "1", "2", "8192", "selective"),
    "GPT 175B, Megatron core, TP 8 x PP 8 x 2 chunks, 512 cards": ("512", "131", "dry_megatron.py"),
}  # fmt: skip
"""World, rank, program and its words."""


def large() -> int:
    """Seconds and memory of the host that a rank of a large job takes, and what it finds."""
    for name, (world, rank, program, *words) in LARGE.items():
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "dry.json"
            options = ["--dry", "--steps", "0", "--memory", "96G", "--world", world, "--rank", rank]
            call = [sys.executable, "-m", "jumar", "run", *options, "--report", str(report)]
            began, before = time.monotonic(), _children()
            done = subprocess.run([*call, str(PROGRAM.with_name(program)), *words], env=_environ(), check=False)
            took, spent = time.monotonic() - began, _children() - before
            if done.returncode:
                return done.returncode
            found = json.loads(report.read_text(encoding="utf-8"))["ranks"][0]
        print(name)
        print(f"    peak {found['memory']['peak'] / 2**30:.2f} GiB, reserved {found['memory']['reserved'] / 2**30:.2f}")
        print(f"    {took:.0f} s, {spent:.0f} s of the processor, {found['host_bytes'] / 2**30:.2f} GiB of the host")
    return 0


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _environ() -> dict[str, str]:
    return {**os.environ, "JUMAR_EMULATE": "1", "JUMAR_QUIET": "1", "JUMAR_EXPLAIN": "0"}


def _run(words: list[str]) -> float:
    """Seconds of processor time of a step after the first."""
    done = subprocess.run(words, env=_environ(), stdout=subprocess.PIPE, text=True, check=True)
    return float(next(line for line in done.stdout.splitlines() if line.startswith("seconds ")).split()[1])


if __name__ == "__main__":
    sys.exit(main())
