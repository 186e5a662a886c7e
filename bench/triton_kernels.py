"""Triton kernels on the emulated card: against Triton's own interpreter and against torch on the same tensors.

The interpreter runs one program after the other: it gets a slice of the grid, and its time is scaled up to the whole.
Needs Triton beside torch_npu: `pip install --no-deps triton-ascend` or `triton`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

SHARE = 32
"""The interpreter runs one of so many programs."""


def main() -> int:
    if importlib.util.find_spec("triton") is None:
        print("triton is not installed: pip install --no-deps triton-ascend")
        return 0
    if len(sys.argv) > 1:
        print(json.dumps(measure(int(sys.argv[1]))))
        return 0
    ours, theirs = _child(1, "0"), _child(SHARE, "1")
    print(f"{'kernel':30}{'emulator':>12}{'interpreter':>14}{'ratio':>8}{'torch':>12}{'ratio':>8}")
    for name, (seconds, eager) in ours.items():
        scaled = theirs[name][0] * SHARE if name in theirs else 0.0
        shown = f"{scaled:>12.1f} s{scaled / seconds:>7.0f}x" if scaled else f"{'does not run':>14}{'':>8}"
        print(f"{name:30}{seconds:>10.2f} s{shown}{eager:>10.3f} s{seconds / eager:>7.1f}x")
    return 0


def measure(share: int) -> dict[str, list[float]]:
    """Seconds of each kernel, and of torch where the whole grid is run."""
    import triton_cases

    return {
        name: [_seconds(lambda run=run: run(share)), _seconds(reference) if share == 1 else 0.0]
        for name, (run, reference) in triton_cases.cases().items()
    }


def _child(share: int, interpret: str) -> dict[str, list[float]]:
    variables = {**os.environ, "JUMAR_EMULATE": "1", "JUMAR_QUIET": "1", "TRITON_INTERPRET": interpret}
    done = subprocess.run(
        [sys.executable, __file__, str(share)], env=variables, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.stderr.write(f"{done.stderr.strip().splitlines()[-1]}\n")
        return {}
    found: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _seconds(work: Callable[[], object]) -> float:
    """The best of three."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    sys.exit(main())
