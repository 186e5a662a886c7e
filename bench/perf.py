"""Time and memory of `jumar perf read` on a 64 MB trace, against plain `json.load` and the vendor's advisor.

usage: python bench/perf.py [FOLDER]

Without a `*_ascend_pt` folder it writes one: 380,000 events in the form of torch_npu's profiler. The advisor is
measured where msprof-analyze is installed.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

STEPS = 420
OPERATORS = 90
"""Of each step; every one has an outer and an inner host event, calls into CANN, a kernel and its flows."""
LOADING = """
import collections, json, sys
totals = collections.Counter()
for event in json.load(open(sys.argv[1], encoding="utf-8")):
    totals[event["name"]] += float(event.get("dur", 0))
"""
OURS = "import sys; from jumar.cli.main import main; sys.exit(main(['perf', 'read', sys.argv[1], '--json']))"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="jumar-bench-") as scratch:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else write(Path(scratch) / "bench_ascend_pt")
        trace = folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json"
        print(f"{trace.stat().st_size / 1e6:.0f} MB")
        rows = {
            "json.load and totals by name": [sys.executable, "-c", LOADING, str(trace)],
            "jumar perf read": [sys.executable, "-c", OURS, str(folder)],
        }
        tool = shutil.which("msprof-analyze", path=str(Path(sys.executable).parent)) or shutil.which("msprof-analyze")
        if tool:
            rows["msprof-analyze advisor all"] = [tool, "advisor", "all", "-d", str(folder), "-o", scratch]
        print(f"{'what':<32} {'CPU s':>8} {'peak MiB':>9} {'times json.load':>16}")
        first = 0.0
        for name, command in rows.items():
            seconds, memory = measure(command)
            first = first or seconds
            print(f"{name:<32} {seconds:>8.2f} {memory:>9,} {seconds / first:>16.1f}")
        if not tool:
            print("msprof-analyze is not installed: not measured")


def measure(command: list[str]) -> tuple[float, int]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        sys.exit(f"`{command[0]}` failed with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024


def write(folder: Path) -> Path:
    output = folder / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    with open(output / "trace_view.json", "w", encoding="utf-8") as file:
        file.write("[")
        for pid, name in ((1, "Python"), (2, "CANN"), (3, "Ascend Hardware")):
            meta = {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
            file.write(json.dumps(meta) + ", ")
        begin, names = 1704161511420306000, ["mm", "add", "mul", "pow", "mean", "rsqrt", "silu", "_softmax", "bmm"]
        for number in range(STEPS * OPERATORS):
            name, at = names[number % len(names)], begin + number * 60_000
            events = [
                span(f"aten::{name.strip('_')}", 1, at, 50.0, "cpu_op"),
                span(f"aten::{name}", 1, at + 5_000, 40.0, "cpu_op"),
                span(f"aclnn{name}", 1, at + 9_000, 20.0, "cpu_op"),
                *(span(call, 2, at + 10_000, 3.0) for call in ("AscendCL@aclnnX", "Node@launch", "AscendCL@rtLaunch")),
                span(f"aclnn{name}_{name}_{name}", 3, at + 30_000, 12.5, task="AI_VECTOR_CORE"),
                flow("s", number, 1, at + 9_000),
                flow("f", number, 3, at + 30_000),
                flow("s", number + 10**7, 2, at + 10_000),
            ]
            file.write(json.dumps(events)[1:-1] + ("" if number == STEPS * OPERATORS - 1 else ", "))
        file.write("]")
    return folder


def span(name: str, pid: int, at: int, length: float, category: str = "", task: str = "") -> dict[str, object]:
    event: dict[str, object] = {"ph": "X", "name": name, "pid": pid, "tid": pid, "ts": stamp(at), "dur": length}
    event["args"] = {"Task Type": task} if task else {"Sequence number": -1, "Fwd thread id": 0, "Input Dims": "64,128"}
    return {**event, "cat": category} if category else event


def flow(kind: str, number: int, pid: int, at: int) -> dict[str, object]:
    return {"ph": kind, "bp": "e", "name": "torch_to_npu", "id": number, "pid": pid, "tid": pid, "ts": stamp(at),
            "cat": "async_npu"}  # fmt: skip


def stamp(at: int) -> str:
    return f"{at // 1000}.{at % 1000:03d}"


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
