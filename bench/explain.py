"""Speed and memory of `jumar explain` against `grep -c` and `wc -l` on the same logs, in the same run.

usage: python bench/explain.py [FILE]

Without a file it writes logs of a training run and of a server; the last line of each holds an error.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

SIZE = 256 << 20
ERROR = "torch.OutOfMemoryError: NPU out of memory. Tried to allocate 72.00 MiB (NPU 0; 61.27 GiB total capacity\n"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="jumar-bench-") as scratch:
        if len(sys.argv) > 1:
            logs = [Path(sys.argv[1])]
        else:
            logs = [write(Path(scratch, f"{name}.log"), line) for name, line in LINES.items()]
        print(f"{'log':<12} {'what':<34} {'MB/s of CPU':>12} {'times grep':>11} {'peak MiB':>9}")
        for log in logs:
            measure(log)


def training(number: int, chance: random.Random) -> str:
    return (
        f"2026-11-16 11:{number // 60 % 60:02}:{number % 60:02},{number % 1000:03} INFO trainer.py:{number % 777} - "
        f"[rank {number % 8}] epoch: {number // 1000} | step: {number % 1000}/1000 | loss: {chance.random():.4f} | "
        f"lr: {chance.random():.3e} | grad_norm: {chance.random():.3f} | per iteration (ms): {chance.random():.1f}\n"
    )


def serving(number: int, chance: random.Random) -> str:
    return (
        f"(EngineCore_DP0 pid=415) INFO 09-17 04:{number // 60 % 60:02}:{number % 60:02} [loggers.py:123] Engine 000: "
        f"Avg prompt throughput: {chance.random() * 1000:.1f} tokens/s, Avg generation throughput: "
        f"{chance.random() * 1000:.1f} tokens/s, Running: {number % 9} reqs, KV cache usage: {chance.random():.1%}\n"
    )


LINES = {"training": training, "serving": serving}


def write(path: Path, line: object) -> Path:
    chance = random.Random(7)
    assert callable(line)
    block = "".join(line(number, chance) for number in range(20_000)).encode()
    with path.open("wb") as file:
        while file.tell() < SIZE:
            file.write(block)
        file.write(ERROR.encode())
    return path


def measure(log: Path) -> None:
    size = log.stat().st_size / 1e6
    subprocess.run(["wc", "-c", str(log)], stdout=subprocess.DEVNULL, check=True)  # into the page cache
    environ = {**os.environ, "LC_ALL": "C"}
    grep, _ = cpu(["grep", "-c", "Error", str(log)], environ)
    lines, _ = cpu(["wc", "-l", str(log)], environ)
    ours, peak = cpu([sys.executable, "-m", "jumar", "explain", str(log)], environ)
    for what, seconds, memory in (("grep -c Error", grep, 0), ("wc -l", lines, 0), ("jumar explain", ours, peak)):
        shown = f"{memory / 1024:.0f}" if memory else ""
        print(f"{log.stem:<12} {what:<34} {size / seconds:>12,.0f} {seconds / grep:>11.1f} {shown:>9}", flush=True)


def cpu(command: list[str], environ: dict[str, str]) -> tuple[float, int]:
    """Seconds of processor, and the largest memory of any child so far in KiB; the best of three."""
    best = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, env=environ, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return max(best, 1e-3), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


if __name__ == "__main__":
    main()
