"""The order of operators and collectives of a run, dry or computed, so that one can be held against the other."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from jumar.emulate.dry import ledger, peaks, peers, places
from jumar.runtime import variables


def write() -> None:
    """`rank-0.json` in the folder that `JUMAR_DRY_TRACE` names."""
    folder = Path(variables.DRY_TRACE.read())
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(order(ledger.read()))
    (folder / f"rank-{int(os.environ.get('RANK') or 0)}.json").write_text(text, encoding="utf-8")


def order(kept: ledger.Ledger) -> dict[str, Any]:
    """Of whole steps: operators with types and sizes of what went in and came out, collectives with bytes and ranks.

    The last step has no end of its own: behind it is what the program does at its end.
    """
    operators: list[str] = []
    collectives: list[list[Any]] = []
    groups = peers.groups()
    ends = [place for place, number in enumerate(kept.sequence) if number == 0]
    for number in kept.sequence[: ends[-2] if len(ends) > 1 else None]:
        name, *parts = kept.signatures[number].split("\t")
        if not name.startswith("c10d::"):
            operators.append(kept.signatures[number] or "step")
            continue
        size, group, _, waits, place = parts
        site = kept.names[int(place)].partition(places.WAITS)[0]
        collectives.append([name, int(size), groups.get(group, []), waits, site])
    return {"operators": operators, "collectives": collectives, "memory": _memory(kept)}


def _memory(kept: ledger.Ledger) -> dict[str, int]:
    return peaks.highest(kept.allocations[0].device)._asdict() if kept.allocations else {}
