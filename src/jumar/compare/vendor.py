"""Reads and writes the dumps of the vendor's accuracy tool: dump.json, stack.json, construct.json.

Layout of msprobe (mindstudio-probe 26.2.0): step{N}/rank{R} or proc{PID}/, statistics per tensor, no sketches; so
errors are lower bounds, from norm, mean and extremes.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jumar.compare.result import STATS, Entry, Out
from jumar.compare.store import Rank, Step
from jumar.core.errors import UserError
from jumar.core.write import replace

DUMP = "dump.json"
_MOST = 1 << 29
_STATS = ("Min", "Max", "Mean", "Norm")
_PHASES = ("forward", "backward", "parameters_grad")


def is_dump(path: Path) -> bool:
    return bool(_files(path))


def _files(path: Path) -> list[Path]:
    if path.name == DUMP and path.is_file():
        return [path]
    if not path.is_dir() or (path / "meta.json").is_file():
        return []
    return sorted(file for depth in ("", "*/", "*/*/") for file in path.glob(f"{depth}{DUMP}"))


def ranks(path: Path) -> list[Rank]:
    """One rank per rank* or proc* folder, its steps by the step* folders above."""
    found: dict[str, dict[int, Path]] = {}
    for file in _files(path):
        step = re.fullmatch(r"step(\d{1,9})", file.parent.parent.name)
        found.setdefault(file.parent.name, {})[int(step[1]) if step else 0] = file
    result = []
    for place, (name, steps) in enumerate(sorted(found.items())):
        number = re.fullmatch(r"rank(\d{1,6})", name)
        first = _load(next(iter(steps.values())))
        meta = {"torch": str(first.get("framework", "")), "device": "vendor dump", "dtype": "", "vendor": True}
        result.append(Rank(path, int(number[1]) if number else place, meta, [], steps))
    return sorted(result, key=lambda rank: rank.number)


def _load(file: Path) -> dict[str, Any]:
    try:
        if file.stat().st_size > _MOST:
            raise UserError(f"`{file}` is larger than {_MOST >> 20} MiB", "dump fewer steps, or statistics only")
        value = json.loads(file.read_bytes())
    except OSError as error:
        raise UserError(f"cannot read `{file}`: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"`{file}` is damaged or cut: {error}", "dump it again") from error
    if not isinstance(value, dict):
        raise UserError(f"`{file}` is not a dump: it holds no object", "dump it again")
    return value


def read_step(file: Path) -> Step:
    value = _load(file)
    data = value.get("data")
    if not isinstance(data, dict):
        raise UserError(f"`{file}` is not a dump: it has no `data`", "dump it again with task `statistics` or `tensor`")
    frames = _frames(file.with_name("stack.json"))
    entries: list[Entry] = []
    rows: list[list[float]] = []
    try:
        for name, item in data.items():
            _api(str(name), item, frames, entries, rows)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UserError(f"`{file}` is damaged: {error}", "dump it again") from error
    step = re.fullmatch(r"step(\d{1,9})", file.parent.parent.name)
    numbers = np.array(rows, np.float32).reshape(len(rows), len(STATS))
    return Step(int(step[1]) if step else 0, entries, numbers)


def _frames(file: Path) -> dict[str, str]:
    """The nearest line of each API; a dump without stacks is a dump."""
    if not file.is_file():
        return {}
    found: dict[str, str] = {}
    for value in _load(file).values():
        if not (isinstance(value, list) and len(value) == 2 and all(isinstance(part, list) for part in value)):
            continue
        for frame in value[1]:
            line = re.search(r"File (.+?), line (\d+)", str(frame))
            if line and "site-packages" not in line[1]:
                found.update({str(name): f"{line[1]}:{line[2]}" for name in value[0]})
                break
    return found


def _api(name: str, item: Any, frames: dict[str, str], entries: list[Entry], rows: list[list[float]]) -> None:
    words = name.split(".")
    phase = next((word for word in _PHASES if word in words), "forward")
    at = words.index(phase) if phase in words else len(words)
    is_module = words[0] in ("Module", "Cell")
    module = ".".join(words[1 : at - 1]) if is_module else ""
    op = f"Module.{words[at - 1]}" if is_module else ".".join(words[: max(2, at - 1)])
    if phase == "parameters_grad":
        for key, values in item.items():
            for value in values if isinstance(values, list) else [values]:
                _tensor("grad", f"{module}.{key}", "backward", value, entries, rows)
        return
    for key, value in (item.get("parameters") or {}).items():
        _tensor("weight", f"{module}.{key}", "forward", value, entries, rows)
    arguments = item.get("input_args", item.get("input")) or []
    inputs = []
    args: dict[str, Any] = {}
    for place, value in enumerate([*arguments, *(item.get("input_kwargs") or {}).items()]):
        key, value = value if isinstance(value, tuple) else (str(place), value)
        index = _tensor("arg", f"{name}.{key}", phase, value, entries, rows)
        if index >= 0:
            inputs.append(index)
        elif isinstance(value, dict):
            args[key] = value.get("value")
    outs = tuple(out for out in (_out(value, rows) for value in _flat(item.get("output"))) if out is not None)
    entries.append(Entry(len(entries), "op", op, name, phase, module, frames.get(name, ""), tuple(inputs), args, outs))


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def _tensor(kind: str, name: str, phase: str, value: Any, entries: list[Entry], rows: list[list[float]]) -> int:
    out = _out(value, rows)
    if out is None:
        return -1
    entries.append(Entry(len(entries), kind, "", name, phase, "", "", (), {}, (out,)))
    return len(entries) - 1


def _out(value: Any, rows: list[list[float]]) -> Out | None:
    if not isinstance(value, dict) or "shape" not in value:
        return None
    shape = tuple(int(size) for size in value["shape"])
    low, high, mean, norm = (_number(value.get(key)) for key in _STATS)
    count = max(1, math.prod(shape))
    bad = [sum(test(part) for part in (low, high, norm)) > 0 for test in (math.isnan, math.isinf)]
    known = value.get("Norm") is not None
    if known:
        rows.append([low, high, mean * count, norm, float(bad[0]), float(bad[1])])
    return Out(str(value.get("dtype", "")).removeprefix("torch."), shape, len(rows) - 1 if known else -1)


def _number(value: Any) -> float:
    return float(value) if value is not None else 0.0


def write(rank: Rank, folder: Path, read: Any) -> list[Path]:
    """Write each step of a record as the vendor's tool would have dumped it, operators named after aten."""
    written = []
    for number, path in rank.steps.items():
        place = folder / f"step{number}" / f"rank{rank.number}"
        place.mkdir(parents=True, exist_ok=True)
        for name, value in _documents(read(path)).items():
            replace(place / name, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())
        written.append(place)
    return written


def _documents(step: Step) -> dict[str, Any]:
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


def _shown(step: Step, out: Out) -> dict[str, Any]:
    shown: dict[str, Any] = {"type": "torch.Tensor", "dtype": f"torch.{out.dtype}", "shape": list(out.shape)}
    if out.row < 0:
        return {**shown, "Max": None, "Min": None, "Mean": None, "Norm": None, "requires_grad": False}
    low, high, total, norm = (float(value) for value in step.numbers[out.row][:4])
    values = {"Max": high, "Min": low, "Mean": total / max(1, out.numel), "Norm": norm}
    plain = {key: value if math.isfinite(value) else str(value) for key, value in values.items()}
    return {**shown, **plain, "requires_grad": False}
