"""Networks of MindSpore's public model collection: migrated, then trained on the emulated Ascend and the CPU target.

Usage: python tools/mindspore_networks.py CLONE --python PY [--only NAME,…] [--half tuned|held] [--keep DIR] [--record]

CLONE is a checkout of mindspore-ai/models, PY an interpreter with mindspore, pyyaml and easydict. tools/
mindspore_networks.toml says which networks, how each is built, and what of its code was changed by hand. --record
writes the figures for docs/results/mindspore.md; rows of networks that were not run stay.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from jumar.emulate import mindspore

_TOP = Path(__file__).parents[1]
_TABLE = Path(__file__).with_suffix(".toml")
_WORKER = Path(__file__).with_name("mindspore_networks_worker.py")
_RECORD = _TOP / "docs" / "results" / "data" / "mindspore_networks.json"
_MARK = "network-losses"
_CONTROL = {"DNNL_MAX_CPU_ISA": "SSE41"}
"""The CPU target with other vector instructions: how far rounding alone takes a network."""
Row = dict[str, Any]


def main() -> int:
    options = _options()
    version = mindspore.check(options.python).mindspore
    only = set(filter(None, options.only.split(",")))
    found: dict[str, Row] = {}
    for row in table():
        if (only and row["name"] not in only) or (options.half and row["half"] != options.half):
            continue
        found[row["name"]] = judge(row, options)
        print(f"{row['name']}: {found[row['name']]['state']}", json.dumps(found[row["name"]]), flush=True)
    if options.record:
        record(found, version)
    return 0 if all(row["state"] == "equal" for row in found.values()) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="train networks of the public collection on the emulated Ascend")
    parser.add_argument("clone", type=Path, help="a checkout of mindspore-ai/models")
    parser.add_argument("--python", required=True, help="interpreter with mindspore")
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--half", choices=("tuned", "held"))
    parser.add_argument("--limit", type=float, default=600, help="seconds for one side of a network")
    parser.add_argument("--keep", type=Path, help="leave the migrated folders and the logs there")
    parser.add_argument("--record", action="store_true", help="write the figures for the results page")
    return parser.parse_args()


def table() -> list[Row]:
    return list(tomllib.loads(_TABLE.read_text(encoding="utf-8"))["network"])


def judge(row: Row, options: argparse.Namespace) -> Row:
    with tempfile.TemporaryDirectory() as scratch:
        place = (options.keep or Path(scratch)).absolute() / row["name"].replace(" ", "-")
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(options.clone / row["folder"], place)
        result: Row = {"migrated": migrate(place), "hands": len(row.get("hand", []))}
        by_hand(place, row)
        result["npu"], result["cpu"] = (train(row, place, side, options) for side in ("npu", "cpu"))
        result = {**verdict(result["npu"], result["cpu"], row.get("near", 1e-3)), **result}
        if result["state"] == "differs":
            result["control"] = train(row, place, "control", options)
    if "losses" in result.get("control", {}):
        result["control_apart"] = apart(result["control"]["losses"], result["cpu"]["losses"])
    return result


def migrate(place: Path) -> Row:
    """What `jumar migrate --write` changed, and what it left to a person, by rule."""
    command = [sys.executable, "-m", "jumar", "migrate", "--write", "--json", "--jobs", "1", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return {"error": done.stderr[-500:]}
    told = json.loads(done.stdout)
    by_state: dict[str, Counter[str]] = {"rewritten": Counter(), "needs a hand": Counter(), "unsupported": Counter()}
    for finding in told["findings"]:
        if finding["state"] in by_state:
            by_state[finding["state"]][finding["id"]] += 1
    return {
        "files": told["summary"]["changed"],
        **{state: dict(sorted(ids.items())) for state, ids in by_state.items()},
    }


def by_hand(place: Path, row: Row) -> None:
    """The substitutions of the table, each of which must fit."""
    for change in row.get("hand", []):
        path = place / change["file"]
        text = path.read_text(encoding="utf-8")
        if change["old"] not in text:
            raise SystemExit(f"error: `{change['old']}` is not in `{path}`")
        path.write_text(text.replace(change["old"], change["new"]), encoding="utf-8")


def train(row: Row, place: Path, side: str, options: argparse.Namespace) -> Row:
    """The losses of every step, or what stopped it."""
    jumar = [
        sys.executable,
        "-m",
        "jumar",
        "run",
        "--python",
        options.python,
        *([] if side == "npu" else ["--on", "cpu"]),
    ]
    inside = str(place / row["inside"]) if "inside" in row else str(place)
    command = [*jumar, str(_WORKER), json.dumps({**row, "place": inside})]
    environ = {**os.environ, "GLOG_v": "3", "JUMAR_MACHINE": f"networks-{os.getpid()}", **row.get("environment", {})}
    environ |= _CONTROL if side == "control" else {}
    start = time.monotonic()
    try:
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, check=False, timeout=options.limit, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return {"error": f"out of time after {options.limit:.0f} s"}
    seconds = round(time.monotonic() - start, 1)
    if options.keep:
        (place / f"{side}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    for line in done.stdout.splitlines():
        if line.startswith(_MARK):
            return {"losses": json.loads(line[len(_MARK) :]), "seconds": seconds}
    return {"error": last_error(done.stdout + done.stderr), "seconds": seconds}


def last_error(said: str) -> str:
    """The line that says why: an emulator's refusal first, then the last line that looks like an exception."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    refused = [line for line in lines if line.startswith("jumar: `") or "OperatorFactory is not exist" in line]
    errors = [line for line in lines if line.split(":")[0].endswith(("Error", "Exception", "NotImplemented"))]
    return (refused[:1] or errors[-1:] or lines[-1:] or ["nothing was said"])[0][:300]


def verdict(npu: Row, cpu: Row, near: float) -> Row:
    """`equal`, `differs`, `runs` where only the emulated side does, `fails`."""
    if "error" in npu:
        return {"state": "fails"}
    if "error" in cpu:
        return {"state": "runs"}
    found = apart(npu["losses"], cpu["losses"])
    return {"state": "equal" if found <= near else "differs", "apart": found}


def apart(some: list[list[float]], others: list[list[float]]) -> float:
    """The largest relative difference of all steps."""
    pairs = [pair for one, other in zip(some, others, strict=True) for pair in zip(one, other, strict=True)]
    return max(abs(one - other) / max(abs(other), 1e-6) if one == one else float("inf") for one, other in pairs)


def record(found: dict[str, Row], version: str) -> None:
    old = json.loads(_RECORD.read_text(encoding="utf-8")) if _RECORD.exists() else {}
    rows = {**old.get("rows", {}), **found}
    kept = {row["name"]: {**_shown(row), **rows[row["name"]], **_words(row)} for row in table() if row["name"] in rows}
    waiting = [f"{row['name']} (`{row['folder']}`)" for row in table() if row["name"] not in rows]
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    text = json.dumps({**old, "date": today, "mindspore": version, "rows": kept, "waiting": waiting}, indent=1)
    _RECORD.write_text(text + "\n", encoding="utf-8")


def _shown(row: Row) -> Row:
    return {key: row[key] for key in ("folder", "half", "what")}


def _words(row: Row) -> Row:
    return {"hand": [change["reason"] for change in row.get("hand", [])], "first": row.get("first")}


if __name__ == "__main__":
    sys.exit(main())
