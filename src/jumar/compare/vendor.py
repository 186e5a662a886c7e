"""Reads the dumps of the vendor's accuracy tool: dump.json, stack.json, construct.json, and tensors that it saved.

Layout of msprobe (mindstudio-probe 26.2.0): step{N}/rank{R} or proc{PID}/. A dump of task `statistics` has no sketches,
so errors are lower bounds, from norm, mean and extremes; one of task `tensor` is sketched here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from jumar.compare.folding import WIDTH
from jumar.compare.result import STATS
from jumar.compare.store import Rank, RecordedStep
from jumar.compare.vendor_calls import Calls
from jumar.core import read
from jumar.core.errors import UserError

DUMP = "dump.json"
_MOST = 1 << 29
_LIBRARIES = ("site-packages/torch/", "site-packages/torch_npu/", "site-packages/msprobe/", "site-packages/mindspore/")
"""What stands between the user's line and the operator."""


def is_dump(path: Path) -> bool:
    return bool(_files(path))


def _files(path: Path) -> list[Path]:
    if path.name == DUMP and path.is_file():
        return [path]
    if not path.is_dir() or (path / "meta.json").is_file():
        return []
    return sorted(file for depth in ("", "*/", "*/*/") for file in path.glob(f"{depth}{DUMP}"))


def ranks(path: Path) -> list[Rank]:
    """One rank per rank* or proc* folder, its steps by the step* folders between it and what the user named."""
    found: dict[str, dict[int, Path]] = {}
    for file in _files(path):
        below = file.relative_to(path).parts if path.is_dir() else ()
        step = next((match for part in below if (match := re.fullmatch(r"step(\d{1,9})", part))), None)
        found.setdefault(file.parent.name, {})[int(step[1]) if step else 0] = file
    result = []
    for place, (name, steps) in enumerate(sorted(found.items())):
        number = re.fullmatch(r"rank(\d{1,6})", name)
        first = _load(next(iter(steps.values())))
        meta = {"torch": str(first.get("framework", "")), "device": "vendor dump", "dtype": "", "vendor": True,
                "statistics": not _tensors(next(iter(steps.values())))}  # fmt: skip
        result.append(Rank(path, int(number[1]) if number else place, meta, [], steps))
    return sorted(result, key=lambda rank: rank.number)


def _tensors(file: Path) -> Path | None:
    """The folder of saved tensors; what dump.json says of it is a path of another machine."""
    folder = file.parent / "dump_tensor_data"
    return folder if folder.is_dir() else None


def _load(file: Path) -> dict[str, Any]:
    try:
        value = read.decoded(read.content(file, "dump fewer steps, or statistics only", _MOST))
    except ValueError as error:
        raise UserError(f"`{file}` is damaged or truncated: {error}", "dump it again") from error
    if not isinstance(value, dict):
        raise UserError(f"`{file}` is not a dump: it holds no object", "dump it again")
    return value


def read_step(file: Path) -> RecordedStep:
    value = _load(file)
    data = value.get("data")
    if not isinstance(data, dict):
        raise UserError(f"`{file}` is not a dump: it has no `data`", "dump it again with task `statistics` or `tensor`")
    calls = Calls(_frames(file.with_name("stack.json")), _parents(file.with_name("construct.json")), _tensors(file))
    try:
        for name, item in data.items():
            calls.add(str(name), item)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise UserError(f"`{file}` is damaged: {error}", "dump it again") from error
    step = re.fullmatch(r"step(\d{1,9})", file.parent.parent.name)
    return RecordedStep(int(step[1]) if step else 0, calls.entries, _numbers(calls.rows))


def _numbers(rows: list[Any]) -> np.ndarray[Any, Any]:
    """One width for all: a row without a sketch gets one that is no number."""
    head = len(STATS)
    width = head + WIDTH if any(len(row) > head for row in rows) else head
    numbers: np.ndarray[Any, Any] = np.full((len(rows), width), np.nan, np.float32)
    for place, row in enumerate(rows):
        numbers[place, : len(row)] = row
    return numbers


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
            if line and not any(library in line[1] for library in _LIBRARIES):
                found.update({str(name): f"{line[1]}:{line[2]}" for name in value[0]})
                break
    return found


def _parents(file: Path) -> dict[str, str]:
    """The module that each API and module was called in."""
    if not file.is_file():
        return {}
    pairs = ((name, value[0] if isinstance(value, list) and value else value) for name, value in _load(file).items())
    return {name: value for name, value in pairs if isinstance(value, str)}
