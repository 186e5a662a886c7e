"""Writes what one rank's dry run found: `rank-3.json` in the folder that `JUMAR_DRY` names."""

from __future__ import annotations

import json
import os
import resource
import time
from collections import Counter
from pathlib import Path
from typing import Any

from jumar.emulate import env
from jumar.emulate.dry import ledger, load, peaks, peers, places, synthetic, values
from jumar.runtime import variables

_STARTED = time.monotonic()
_TYPES = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64",
          "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool"}  # fmt: skip
_PHASES = ("forward", "backward", "update")
_MOST_HOLDERS = 200


def write(steps: int) -> None:
    folder = Path(variables.DRY.read())
    rank = int(os.environ.get("RANK") or 0)
    folder.mkdir(parents=True, exist_ok=True)
    result, path = found(steps, rank), folder / f"rank-{rank}.json"
    if result["memory"] or not path.exists():  # a launcher's process ends after its program's
        path.write_text(json.dumps(result), encoding="utf-8")


def found(steps: int, rank: int) -> dict[str, Any]:
    """Plain values, as the report reads them."""
    kept = ledger.read()
    calls = ledger.last_step(kept)
    return {
        "rank": rank,
        "world": int(os.environ.get("WORLD_SIZE") or 1),
        "soc": variables.SOC.read(),
        "capacity": env.memory_mib(os.environ) << 20,
        "steps": steps,
        "out_of_memory": _refused(),
        "memory": _memory(kept),
        "operators": _operators(calls),
        "collectives": _collectives(kept, calls),
        "looks": _looks(),
        "computed": load.COMPUTED,
        "assumed": peers.ASSUMED,
        "loaders": synthetic.LOADERS,
        "exact": variables.DRY_EXACT.read(),
        "seconds": time.monotonic() - _STARTED,
        "host_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def _refused() -> int:
    """Requests that no card had room for, the first one of a program included."""
    import torch

    cards = range(torch.npu.device_count()) if torch.npu.is_initialized() else ()
    return sum(torch.npu.memory_stats(card).get("num_ooms", 0) for card in cards)


def _memory(kept: ledger.Ledger) -> dict[str, Any] | None:
    import torch

    top = ledger.peak(kept)
    if top is None:
        return None
    device = kept.allocations[0].device
    high, stats = peaks.highest(device), torch.npu.memory_stats(device)
    owners: Counter[str] = Counter()
    for row in top.holders:
        owners[row.owner] += row.bytes
    return {
        "peak": high.allocated,
        "reserved": high.reserved,
        "requested": top.bytes,
        "retries": stats.get("num_alloc_retries", 0),
        "step": top.step,
        "phase": _PHASES[top.phase],
        "site": top.site,
        "operator": top.op,
        "owners": dict(owners.most_common()),
        "holders": [row._asdict() for row in top.holders[:_MOST_HOLDERS]],
        "picture": ledger.picture(kept),
    }


def _operators(calls: list[str]) -> list[dict[str, Any]]:
    rows = []
    for signature, count in Counter(calls).items():
        name, *parts = signature.split("\t")
        if name.startswith("c10d::"):
            continue
        inputs, outputs = ([_tensor(item) for item in part.split(";") if item] for part in parts)
        rows.append({"name": name, "inputs": inputs, "outputs": outputs, "calls": count})
    return rows


def _tensor(text: str) -> list[Any]:
    kind, *sizes = text.split(",")
    return [_TYPES.get(kind, kind.lower()), [int(size) for size in sizes]]


def _collectives(kept: ledger.Ledger, calls: list[str]) -> list[dict[str, Any]]:
    rows, groups = [], peers.groups()
    for signature, count in Counter(calls).items():
        name, *parts = signature.split("\t")
        if not name.startswith("c10d::"):
            continue
        size, group, ranks, waits, number = parts
        place, functional, _ = kept.names[int(number)].partition(places.WAITS)
        rows.append({
            "name": name.removeprefix("c10d::").strip("_"), "bytes": int(size), "group": groups.get(group, group),
            "ranks": int(ranks), "waits": bool(waits == "waits" or functional), "site": place, "calls": count,
        })  # fmt: skip
    return rows


def _looks() -> list[dict[str, Any]]:
    looks = values.looks()
    return [
        {"site": place, "operation": operation, "type": _TYPES.get(kind, kind.lower()), "calls": count,
         "answer": looks.answers.get((place, operation, kind), 0.0)}
        for (place, operation, kind), count in sorted(looks.counts.items(), key=lambda item: -item[1])
    ]  # fmt: skip
