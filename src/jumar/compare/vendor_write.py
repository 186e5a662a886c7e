"""Writes a record as the vendor's accuracy tool would have dumped it: dump.json, stack.json, construct.json."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

from jumar.compare.result import Out
from jumar.compare.store import Rank, RecordedStep
from jumar.compare.vendor import DUMP
from jumar.core.write import make_folder, replace


def write(rank: Rank, folder: Path, read: Any) -> list[Path]:
    """Write each step of a record as the vendor's tool would have dumped it, operators named after aten."""
    written = []
    for number, path in rank.steps.items():
        place = folder / f"step{number}" / f"rank{rank.number}"
        make_folder(place)
        for name, value in _documents(read(path)).items():
            replace(place / name, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())
        written.append(place)
    return written


def _documents(step: RecordedStep) -> dict[str, Any]:
    data: dict[str, Any] = {}
    stacks: dict[str, list[str]] = {}
    count: Counter[str] = Counter()
    for entry in step.entries:
        if entry.kind != "op" or entry.phase == "optimizer":
            continue
        plain = entry.op.split(".")[1].strip("_") if "." in entry.op else entry.op
        key = f"{plain}.{entry.phase}"
        name = f"Aten.{plain}.{count[key]}.{entry.phase}"
        count[key] += 1
        inputs = [_shown(step, out) for number in entry.inputs for out in step.entries[number].outs[:1]]
        outputs = [_shown(step, out) for out in entry.outs]
        forward = entry.phase == "forward"
        data[name] = {"input_args": inputs, "input_kwargs": {}, "output": outputs} if forward else {
            "input": inputs, "output": outputs}  # fmt: skip
        stacks.setdefault(entry.where, []).append(name)
    head = {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None}
    frames = {}
    for place, (where, names) in enumerate(stacks.items()):
        file, _, line = where.rpartition(":")
        frames[str(place)] = [names, [f"File {file}, line {line}, in forward, \n {names[0]}"] if file else []]
    return {DUMP: {**head, "data": data}, "stack.json": frames, "construct.json": {}}


def _shown(step: RecordedStep, out: Out) -> dict[str, Any]:
    shown: dict[str, Any] = {"type": "torch.Tensor", "dtype": f"torch.{out.dtype}", "shape": list(out.shape)}
    if out.row < 0:
        return {**shown, "Max": None, "Min": None, "Mean": None, "Norm": None, "requires_grad": False}
    low, high, total, norm = (float(value) for value in step.numbers[out.row][:4])
    values = {"Max": high, "Min": low, "Mean": total / max(1, out.numel), "Norm": norm}
    plain = {key: value if math.isfinite(value) else str(value) for key, value in values.items()}
    return {**shown, **plain, "requires_grad": False}
