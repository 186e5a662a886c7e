"""Judges `jumar migrate --multi-card` on programs: do two and four emulated cards take the first steps of one?

usage: python bench/multicard.py PROGRAMS.toml [--style ddp|fsdp] [--cards 1,2,4] [NAME...]

A table of PROGRAMS.toml is one program:

    [mnist]
    folder = "examples/mnist"              # beside the file; it is copied
    script = "main.py"
    args = "--epochs 1 --batch-size {batch}"
    batch = 8                              # of one step; `{batch}` is the part of a card
    divide = false                         # true: the program has no such option, its split loaders get the part
    same_noise = false                     # true: random numbers are the same for every sample of a batch
    setup = "python make_data.py"          # run in the copy before
    env = { DATA = "tiny" }

Dropout is off and batch normalisation uses its running statistics, since both make parts of a batch differ from the
whole. Losses are what `backward` is called on; the mean of the cards' losses is compared with that of one card.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("multicard_record")
LIMIT = 2e-3
STEPS = 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", type=Path)
    parser.add_argument("--style", choices=("ddp", "fsdp"), default="ddp")
    parser.add_argument("--cards", default="1,2,4")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    cards = [int(number) for number in given.cards.split(",")]
    for name, program in tomllib.loads(given.programs.read_text()).items():
        if not given.names or name in given.names:
            print(name, *judge(given.programs.parent, program, given.style, cards), sep="\t", flush=True)


def judge(top: Path, program: dict[str, Any], style: str, cards: list[int]) -> list[str]:
    """What became of one program, for each number of cards."""
    with tempfile.TemporaryDirectory(prefix="jumar-multicard-") as scratch:
        folder = Path(scratch, "program")
        shutil.copytree(top / program["folder"], folder)
        if program.get("setup"):
            subprocess.run(shlex.split(program["setup"]), cwd=folder, check=True)
        command = [
            sys.executable,
            "-m",
            "jumar",
            "migrate",
            f"--multi-card={style}",
            ".",
            "--write",
            "--no-cache",
            "-q",
        ]
        subprocess.run(command, cwd=folder, check=False, capture_output=True)
        if not any("init_process_group" in path.read_text(errors="ignore") for path in folder.rglob("*.py")):
            return ["left to a person"]
        losses = {count: run(folder, program, count) for count in cards}
        return [f"{count}: {verdict(losses[cards[0]], losses[count])}" for count in cards]


def run(folder: Path, program: dict[str, Any], cards: int) -> list[float] | None:
    """The losses of the first steps, averaged over the cards; None when the program failed."""
    out = folder / f"losses_{cards}"
    out.mkdir()
    part = program["batch"] // cards
    env = {
        name: value for name, value in os.environ.items() if not name.startswith(("JUMAR", "RANK", "WORLD", "MASTER"))
    }
    env |= {"JUMAR_EMULATE": "1", "OMP_NUM_THREADS": "1", "RECORD_LOSSES": str(out), **program.get("env", {})}
    env["PYTHONPATH"] = os.pathsep.join([str(RECORD), str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    env["RECORD_DIVIDE"] = str(cards) if program.get("divide") else ""
    env["RECORD_SAME_NOISE"] = "1" if program.get("same_noise") else ""
    command = [sys.executable, "-m", "jumar", "launch", "--no-check", "--cards", str(cards), "--logs", f"logs_{cards}"]
    command += [program["script"], *shlex.split(program.get("args", "").format(batch=part))]
    done = subprocess.run(command, cwd=folder, env=env, check=False, capture_output=True, timeout=900)
    ranks = [json.loads(path.read_text()) for path in out.glob("*.json")]
    if done.returncode or len(ranks) != cards:
        return None
    return [sum(values) / cards for values in zip(*ranks, strict=False)][:STEPS]


def verdict(one: list[float] | None, many: list[float] | None) -> str:
    if not one or not many:
        return "failed"
    apart = max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(many, one, strict=False))
    return f"{'equal' if apart < LIMIT else 'differs'} ({apart:.1e}, {min(len(one), len(many))} steps)"


if __name__ == "__main__":
    main()
