"""PyTorch's own operator database as a judge: results on the emulated card against those of the CPU.

Usage: python tools/opinfo.py [--only NAME,…] [--dtypes NAME,…] [--samples N] [--jobs N] [--timeout S] [--json OUT]

For each operator, dtype and kind of call (forward, backward, in place, out=) the samples of the database run on
both. `equal` is bit for bit; `rounded` is the CPU's float32 result, rounded to half once at the end, as the chip
does where the CPU rounds in between; `unordered` means that random numbers are drawn or two runs on the CPU differ
too; `fallback` is equal too, by torch_npu's own fallback to the CPU with its warning; `vendor` is a data type that
torch_npu's own code refuses, in its words.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import forked
import opinfo_worker

Row = dict[str, str]
_GOOD = ("equal", "rounded", "unordered", "fallback", "vendor")
_PRELOADED = ("opinfo_worker", "torch", "torch_npu", "torch.testing._internal.common_methods_invocations")
_MOST_RESTARTS = 60


def main() -> int:
    options = _options()
    only = set(filter(None, options.only.split(",")))
    dtypes = list(filter(None, options.dtypes.split(",")))
    with forked.prepared(options.jobs, "opinfo", _PRELOADED):
        return judge(options, only, dtypes)


def judge(options: argparse.Namespace, only: set[str], dtypes: list[str]) -> int:
    names = [key for key in opinfo_worker.database() if not only or key[0] in only]
    if unknown := only - {name for name, _ in names}:
        print(f"error: not in the database: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    rows: list[Row] = []
    with ThreadPoolExecutor(options.jobs) as pool, tempfile.TemporaryDirectory() as scratch:
        work = [
            pool.submit(run_operator, *key, dtypes, options.samples, options.timeout, Path(scratch)) for key in names
        ]
        for future in work:
            rows += future.result()
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(table(rows, options.all))
    return 1 if any(row["state"] not in _GOOD for row in rows) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="compare the emulated card with the CPU, operator by operator")
    parser.add_argument("--only", default="", help="names of operators")
    parser.add_argument("--dtypes", default="", help="for example float32,int64")
    parser.add_argument("--samples", type=int, default=8, help="at most so many per dtype")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--json", help="every row, as a list of objects")
    parser.add_argument("--all", action="store_true", help="also print operators without any difference")
    return parser.parse_args()


def run_operator(name: str, variant: str, dtypes: list[str], samples: int, limit: float, scratch: Path) -> list[Row]:
    """All rows of one operator. A dtype that kills the process is left out of the next one."""
    done: dict[tuple[str, str], Row] = {}
    left = dtypes or sorted(
        str(dtype).removeprefix("torch.") for dtype in opinfo_worker.database()[name, variant].supported_dtypes("cpu")
    )
    for attempt in range(_MOST_RESTARTS):
        log = scratch / f"{name}-{variant}-{attempt}".replace("/", "_")
        code = forked.run(opinfo_worker.run, (name, variant, left, samples, str(log)), log, limit)
        running: Row | None = None
        for row in forked.records(log):
            running = row if row["state"] == "started" else None
            if running is None:
                done[row["dtype"], row["kind"]] = row
        if code == 0:
            break
        if running is None:
            running = {"op": name, "variant": variant, "dtype": "?", "kind": "?"}
            left = []
        running = {**running, "state": "error", "detail": forked.how_it_ended(code)}
        done[running["dtype"], running["kind"]] = running
        left = [dtype for dtype in left if not any(dtype == key[0] for key in done)]
        if not left:
            break
    return list(done.values())


def table(rows: list[Row], everything: bool) -> str:
    """Totals per state, then operators whose rows are not all equal, with the dtypes of each state."""
    totals = collections.Counter(row["state"] for row in rows)
    lines = [f"{len(rows)} rows: " + ", ".join(f"{state} {count}" for state, count in totals.most_common())]
    groups: dict[tuple[str, str, str, str], list[Row]] = collections.defaultdict(list)
    for row in rows:
        if everything or row["state"] not in _GOOD:
            groups[row["op"], row["variant"], row["kind"], row["state"]].append(row)
    for (name, variant, kind, state), members in sorted(groups.items()):
        title = f"{name}.{variant}" if variant else name
        lines.append(f"{title:40} {kind:8} {state:9} {' '.join(row['dtype'] for row in members)}")
        if detail := next((row["detail"] for row in members if row.get("detail")), ""):
            lines.append("    " + " ".join(detail.split())[:160])
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
