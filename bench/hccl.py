"""HCCL on emulated cards against gloo on the CPU, in one run: all-reduce of 64 MB and of 1 KB over four processes.

Usage: python bench/hccl.py [--ranks 4] [--rounds 7]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from jumar import start

_LARGE = 16 << 20  # float32 elements: 64 MB
_SMALL = 256
_LIMITS = {"64 MB": 1.0, "1 KB": 2.0}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    os.environ.setdefault("JUMAR_EMULATE", "1")
    start.begin()
    os.environ.setdefault("JUMAR_MACHINE", f"bench-hccl-{os.getpid()}")
    folder = Path(tempfile.mkdtemp())  # no `with`: the forked ranks would remove it
    times = _measure(folder, options.ranks, options.rounds)
    shutil.rmtree(folder)
    print(f"| all-reduce, {options.ranks} processes | gloo | HCCL stand-in | ratio | limit |")
    print("| --- | --- | --- | --- | --- |")
    late = False
    for size, limit in _LIMITS.items():
        gloo, hccl = times["gloo", size], times["hccl", size]
        late |= hccl / gloo > limit
        print(f"| {size} | {gloo * 1e3:.3f} ms | {hccl * 1e3:.3f} ms | {hccl / gloo:.2f} | {limit:.2f} |")
    return 1 if late else 0


def _measure(folder: Path, ranks: int, rounds: int) -> dict[tuple[str, str], float]:
    import torch  # noqa: F401  imported once, before the ranks are forked
    import torch_npu  # noqa: F401

    children = []
    for rank in range(ranks):
        child = os.fork()
        if child == 0:
            _rank(folder, rank, ranks, rounds)
            sys.exit(0)
        children.append(child)
    for child in children:
        if os.waitpid(child, 0)[1] != 0:
            raise SystemExit("a rank failed")
    rows = [line.split("\t") for line in (folder / "times").read_text(encoding="utf-8").splitlines()]
    return {(backend, size): float(seconds) for backend, size, seconds in rows}


def _rank(folder: Path, rank: int, ranks: int, rounds: int) -> None:
    """Both backends take turns, so that a busy machine slows down both."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    torch.npu.set_device(rank)
    store = dist.FileStore(str(folder / "store"), ranks)
    dist.init_process_group("hccl", store=store, rank=rank, world_size=ranks)
    groups = {"gloo": dist.new_group(backend="gloo"), "hccl": dist.group.WORLD}
    tensors = {
        (backend, size): torch.zeros(count, device="cpu" if backend == "gloo" else f"npu:{rank}")
        for backend in groups
        for size, count in (("64 MB", _LARGE), ("1 KB", _SMALL))
    }
    seen: dict[tuple[str, str], list[float]] = {key: [] for key in tensors}
    for turn in range(rounds + 1):
        for (backend, size), tensor in tensors.items():
            repeat = 1 if size == "64 MB" else 200
            dist.barrier(group=groups["gloo"])
            begin = time.perf_counter()
            for _ in range(repeat):
                dist.all_reduce(tensor, group=groups[backend])
            torch.npu.synchronize()
            if turn > 0:
                seen[backend, size].append((time.perf_counter() - begin) / repeat)
    if rank == 0:
        lines = [f"{backend}\t{size}\t{statistics.median(times)}" for (backend, size), times in seen.items()]
        (folder / "times").write_text("\n".join(lines), encoding="utf-8")
    dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
