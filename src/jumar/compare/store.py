"""The files of a record: REC/rankN/ with meta.json, curve.jsonl and one file per step; reading trusts nothing.

A step file is `JREC1\n`, then two parts (operators as compressed JSON, numbers as float32), each with its length and
checksum, so that a file that was cut, damaged or is something else is told apart from a record.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jumar.compare.folding import WIDTH, fold
from jumar.compare.result import STATS, Curve, Out, RecordEntry
from jumar.core import read
from jumar.core.errors import UserError
from jumar.core.write import replace

MAGIC = b"JREC1\n"
FORMAT = 1
BUDGET = 900_000
"""Bytes of numbers per step: with more tensors the sketches get fewer buckets."""
NARROWEST = 16
_MOST = 1 << 28
"""Bytes that one part of a file may have once unpacked."""
_TEXTS = ("kind", "op", "name", "phase", "mod", "at")
_PART = struct.Struct("<QI")
AGAIN = "record it again with `jumar compare record`"


class RecordedStep(NamedTuple):
    number: int
    entries: list[RecordEntry]
    numbers: np.ndarray[Any, Any]
    """One row per tensor: statistics, then the sketch; only statistics for a vendor's dump."""
    scale: float = 1.0
    """The factor that a gradient scaler put on the loss."""


class Rank(NamedTuple):
    """The record of one process."""

    path: Path
    number: int
    meta: dict[str, Any]
    curve: list[Curve]
    steps: dict[int, Path]


def write_step(path: Path, entries: bytes, numbers: np.ndarray[Any, Any], scale: float = 1.0) -> None:
    """Write a step; `entries` are a list in JSON."""
    head = len(STATS)
    width = WIDTH
    while width > NARROWEST and len(numbers) * (head + width) * 4 > BUDGET:
        width //= 2
    if width < WIDTH:
        numbers = np.hstack([numbers[:, :head], fold(numbers[:, head:], width)])
    numbers = np.ascontiguousarray(numbers, np.float32)
    table = json.dumps({"width": width, "rows": len(numbers), "scale": scale}, separators=(",", ":")).encode()
    # A small step is quick, and packing it would take a part of its time.
    level = 0 if len(entries) + numbers.nbytes < BUDGET else 1
    text = zlib.compress(b'%b,"entries":%b}' % (table[:-1], entries), level)
    # Not forced onto the disk: that would cost more than the step itself, and a checksum tells what is cut.
    part = path.with_suffix(".part")
    with open(part, "wb") as file:
        file.write(MAGIC)
        for data in (text, numbers.data.cast("B") if numbers.size else b""):
            file.write(_PART.pack(len(data), zlib.crc32(data)))
            file.write(data)
    part.replace(path)


def read_step(path: Path) -> RecordedStep:
    data = read.content(path, most=2 * _MOST)
    if not data.startswith(MAGIC):
        raise UserError(f"`{path}` is not a step of a record", AGAIN)
    try:
        text, rest = _part(data[len(MAGIC) :])
        raw, rest = _part(rest)
        unpacked = zlib.decompressobj()
        table = read.decoded(unpacked.decompress(text, _MOST))
        if rest or unpacked.unconsumed_tail:
            raise ValueError("more data than expected")
        width, rows = int(table["width"]), int(table["rows"])
        numbers = np.frombuffer(raw, np.float32).reshape(rows, len(STATS) + width)
        if width not in (16, 32, 64, 128, WIDTH):
            raise ValueError(f"sketch of {width}")
        entries = [_entry(index, item, rows) for index, item in enumerate(table["entries"])]
        scale = float(table.get("scale", 1.0))
        if not 0 < scale < float("inf"):
            raise ValueError(f"scale {scale}")
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, zlib.error) as error:
        raise UserError(f"`{path}` is damaged or truncated: {error}", AGAIN) from error
    return RecordedStep(_number(path), entries, numbers, scale)


def step_of(number: int, entries: bytes, numbers: np.ndarray[Any, Any]) -> RecordedStep:
    """A step as `read_step` would give it, without a file."""
    items = enumerate(json.loads(entries))
    return RecordedStep(number, [_entry(index, item, len(numbers)) for index, item in items], numbers)


def _part(data: bytes) -> tuple[bytes, bytes]:
    if len(data) < _PART.size:
        raise ValueError("a part is missing")
    size, checksum = _PART.unpack_from(data)
    part = data[_PART.size : _PART.size + size]
    if len(part) != size or size > _MOST:
        raise ValueError(f"{size} bytes announced, {len(part)} there")
    if zlib.crc32(part) != checksum:
        raise ValueError("wrong checksum")
    return part, data[_PART.size + size :]


def _entry(index: int, item: dict[str, Any], rows: int) -> RecordEntry:
    outs = tuple(Out(str(dtype), tuple(int(size) for size in shape), int(row)) for dtype, shape, row in item["outs"])
    if any(not -1 <= out.row < rows for out in outs):
        raise ValueError(f"operator {index} refers to missing numbers")
    inputs = tuple(int(number) for number in item.get("in", ()))
    if any(not 0 <= number < index for number in inputs):
        raise ValueError(f"operator {index} refers to missing inputs")
    args = item.get("args", {})
    if not isinstance(args, dict):
        raise ValueError(f"operator {index} has no arguments")
    kind, op, name, phase, module, where = (str(item.get(key, "")) for key in _TEXTS)
    shapes = tuple(None if shape is None else tuple(int(size) for size in shape) for shape in item.get("shapes", ()))
    return RecordEntry(index, kind, op, name, phase, module, where, inputs, args, outs, shapes)


def write_json(path: Path, value: Any) -> None:
    replace(path, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())


def amend(folder: Path, **facts: Any) -> None:
    """Add to what each rank of a record says about itself."""
    for path in folder.glob("rank*/meta.json"):
        write_json(path, {**json.loads(path.read_bytes()), **facts})


def ranks(path: Path) -> list[Rank]:
    """The processes of a record, by rank."""
    if not path.exists():
        raise UserError(f"no such record: `{path}`", _near(path))
    folder = path.parent if path.is_file() and path.name == "meta.json" else path
    if not folder.is_dir():
        raise UserError(f"`{path}` is not a record", "a record is the folder that `jumar compare record -o` wrote")
    if (folder / "meta.json").is_file():
        return [_rank(folder)]
    found = [_rank(child) for child in folder.iterdir() if (child / "meta.json").is_file()]
    if not found:
        raise UserError(
            f"`{path}` is not a record", "a record is the folder that `jumar compare record -o` wrote, or a vendor dump"
        )
    return sorted(found, key=lambda rank: rank.number)


def _near(path: Path) -> str:
    from jumar.core.nearest import did_you_mean

    parent = path.parent
    known = {str(child) for child in parent.iterdir()} if parent.is_dir() else set()
    return did_you_mean(str(path), known, "write one with `jumar compare record -o REC -- python train.py`")


def _rank(folder: Path) -> Rank:
    try:
        meta = read.decoded(read.content(folder / "meta.json", most=_MOST))
        if meta["format"] != FORMAT:
            raise UserError(f"`{folder}` has format {meta['format']}, this Jumar reads {FORMAT}", AGAIN)
        number = int(meta["rank"])
        for key in ("torch", "device", "dtype"):
            str(meta[key])
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"`{folder / 'meta.json'}` is damaged or not of a record", AGAIN) from error
    steps = {_number(path): path for path in sorted(folder.glob("step-*.jrec"))}
    return Rank(folder, number, meta, _curve(folder / "curve.jsonl"), steps)


def _number(path: Path) -> int:
    found = re.fullmatch(r"step-(\d{1,9})\.jrec", path.name)
    if not found:
        raise UserError(f"`{path}` is not the name of a step", AGAIN)
    return int(found[1])


def _curve(path: Path) -> list[Curve]:
    if not path.exists():
        return []
    rows = []
    try:
        for line in read.content(path, most=_MOST).splitlines():
            row = read.decoded(line)
            rows.append(Curve(int(row["step"]), _float(row.get("loss")), _float(row.get("grad_norm"))))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"`{path}` is damaged or truncated: line {len(rows) + 1}", AGAIN) from error
    return rows


def _float(value: Any) -> float | None:
    return None if value is None else float(value)
