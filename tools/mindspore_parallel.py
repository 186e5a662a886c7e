"""MindSpore's parallel modes on several emulated cards against one card: the same network, the same losses.

Usage: python tools/mindspore_parallel.py --python PY [--cards N,…] [--modes NAME,…] [--record]

PY is an interpreter with mindspore. The program is tests/emulate/programs/mindspore_parallel_modes.py. --record writes
the figures for docs/results/mindspore.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from jumar.emulate import mindspore

_TOP = Path(__file__).parents[1]
_PROGRAM = _TOP / "tests" / "emulate" / "programs" / "mindspore_parallel_modes.py"
_RECORD = _TOP / "docs" / "results" / "data" / "mindspore_parallel.json"
_NEAR = 1e-4
Losses = dict[str, Any]  # a list of losses, or the text of an error, by mode


def main() -> int:
    options = _options()
    modes = [mode for mode in options.modes.split(",") if mode]
    version = mindspore.check(options.python).mindspore
    alone = run(options.python, 1, modes)[0]
    verdicts = []
    for cards in (int(text) for text in options.cards.split(",")):
        found = compare(alone, run(options.python, cards, modes))
        for mode, verdict in found.items():
            print(f"{mode} on {cards} cards: {verdict}", flush=True)
        verdicts += found.values()
        if options.record:
            _record(version, cards, found)
    return 0 if all(verdict == "equal" for verdict in verdicts) else 1


def _record(version: str, cards: int, found: dict[str, str]) -> None:
    """What other numbers of cards gave with this release stays: eight cards alone take many minutes."""
    rows: dict[str, dict[str, str]] = {}
    if _RECORD.exists():
        before = json.loads(_RECORD.read_text(encoding="utf-8"))
        rows = before["rows"] if before["mindspore"] == version else {}
    for mode, verdict in found.items():
        rows.setdefault(mode, {})[str(cards)] = verdict
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    _RECORD.write_text(
        json.dumps({"date": today, "mindspore": version, "rows": rows}, indent=1) + "\n", encoding="utf-8"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="compare MindSpore's parallel modes with one card")
    parser.add_argument("--python", required=True, help="interpreter with mindspore")
    parser.add_argument("--cards", default="2,4,8")
    parser.add_argument("--modes", default="", help="all, unless named")
    parser.add_argument("--record", action="store_true", help="write the figures for the results page")
    return parser.parse_args()


def run(python: str, cards: int, modes: list[str]) -> list[Losses]:
    """What each rank printed."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "jumar", "run", "--cards", str(cards), "--python", python]
        if cards > 1:
            words += ["msrun", f"--worker_num={cards}", f"--local_worker_num={cards}", "--join=True", "--log_dir=logs",
                      f"--master_port={_free_port()}"]  # fmt: skip
        done = subprocess.run(
            [*words, str(_PROGRAM), *modes], cwd=folder, check=False, capture_output=True, text=True,
            env={**os.environ, "GLOG_v": "3", "JUMAR_EMULATE": "1", "JUMAR_MACHINE": f"modes-{os.getpid()}-{cards}"},
        )  # fmt: skip
        if cards == 1:
            return [read(done.stdout)]
        logs = [Path(folder, "logs", f"worker_{rank}.log") for rank in range(cards)]
        return [read(log.read_text(encoding="utf-8", errors="replace") if log.exists() else "") for log in logs]


def read(said: str) -> Losses:
    rows = [json.loads(line) for line in said.splitlines() if line.startswith('{"mode"')]
    return {row["mode"]: row.get("losses", row.get("error")) for row in rows}


def compare(alone: Losses, ranks: list[Losses]) -> dict[str, str]:
    """A verdict per mode: ranks of data parallelism have a part of the loss each, in others the last one has it all."""
    return {
        mode: _verdict(mode, losses, [rank.get(mode, "no result") for rank in ranks]) for mode, losses in alone.items()
    }


def _verdict(mode: str, alone: Any, found: list[Any]) -> str:
    for one in [alone, *found]:
        if isinstance(one, str):
            return one
    losses = [sum(step) / len(found) for step in zip(*found, strict=True)] if mode == "data" else found[-1]
    far = max(abs(one - other) / abs(other) for one, other in zip(losses, alone, strict=True))
    return "equal" if far < _NEAR else f"off by {far:.2g}: {losses} instead of {alone}"


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
