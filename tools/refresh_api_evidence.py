"""Runs every API of the support tables that can be called, on the emulated card: data/api_evidence.json.

Usage: python tools/refresh_api_evidence.py [--only NAME,…] [--jobs N] [--timeout S] [--check]

The vendor's table, the kernels and the wheel are claims; this is an experiment with the real torch_npu. A row says
`ran`, `fell back` (torch_npu ran it on the CPU), `refused` (the emulator does not have it: no evidence either way) or
`failed`, in which case torch_npu's own words follow. Rows without a program are left out.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import api_evidence_worker
import forked
from jumar.tables.load import table

OUT = Path(__file__).parents[1] / "src" / "jumar" / "data" / "api_evidence.json"
_PRELOADED = (
    "api_evidence_worker", "api_programs", "torch", "torch_npu", "torch.testing._internal.common_methods_invocations",
    "torch.testing._internal.common_modules",
)  # fmt: skip
Row = dict[str, str]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--only", default="", help="names of APIs; their rows are written anew")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when a row would change")
    options = parser.parse_args()
    only = set(filter(None, options.only.split(",")))
    with forked.prepared(options.jobs, "evidence", _PRELOADED):
        known_names = {*table("api_support.json")["apis"], *api_evidence_worker.operators()}
        if unknown := only - known_names:
            print(f"error: no such API in the tables: {', '.join(sorted(unknown))}", file=sys.stderr)
            return 2
        names = sorted(name for name in only or known_names if api_evidence_worker.has_program(name))
        rows = experiment(names, options.jobs, options.timeout)
    old = json.loads(OUT.read_text(encoding="utf-8"))["apis"] if OUT.exists() else {}
    known = {**({key: row for key, row in old.items() if key not in names} if only else {}), **texts(rows)}
    totals = collections.Counter(text.partition(":")[0] for text in known.values())
    print(", ".join(f"{state} {count}" for state, count in totals.most_common()))
    if options.check:
        return 1 if known != old else 0
    OUT.write_text(json.dumps(document(known), indent=0) + "\n", encoding="utf-8")
    return 0


def experiment(names: list[str], jobs: int, limit: float) -> list[Row]:
    """A process each: torch_npu warns of the CPU once in a process, and one name must not speak for another."""
    with ThreadPoolExecutor(jobs) as pool, tempfile.TemporaryDirectory() as scratch:
        work = [pool.submit(run_alone, name, limit, Path(scratch) / name) for name in names]
        return [future.result() for future in work]


def run_alone(name: str, limit: float, log: Path) -> Row:
    code = forked.run(api_evidence_worker.run, (name, str(log)), log, limit)
    found = forked.records(log)
    return found[0] if found else {"name": name, "state": "failed", "detail": forked.how_it_ended(code)}


def texts(rows: list[Row]) -> dict[str, str]:
    """A row as text: the state, and for those that did not run the words of the error."""
    return {
        row["name"]: f"{row['state']}: {row['detail']}" if row.get("detail") else row["state"]
        for row in sorted(rows, key=lambda row: row["name"])
        if row["state"] != "no program"
    }


def document(known: dict[str, str]) -> dict[str, object]:
    return {
        "source": "runs on the emulated card (PyTorch's OpInfo and ModuleInfo samples, tools/api_programs.py)",
        "tool": "tools/refresh_api_evidence.py",
        "meaning": "API -> ran, fell back (to the CPU), refused (by the emulator) or failed, with the error's words",
        "date": datetime.date.today().isoformat(),
        "torch": version("torch").partition("+")[0],
        "torch_npu": version("torch_npu").partition("+")[0],
        "apis": dict(sorted(known.items())),
    }


if __name__ == "__main__":
    sys.exit(main())
