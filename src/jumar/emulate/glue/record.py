"""The record of `jumar run --ops FILE`: every operator that ran on the card, merged over all processes."""

from __future__ import annotations

import atexit
import csv
import ctypes
import fcntl
import functools
import importlib.util
import io
import json
import os
import sys
import threading
from pathlib import Path
from types import FrameType

from jumar.core.errors import UserError, cannot
from jumar.emulate.operators import FIELDS, Operator
from jumar.runtime import variables

_SITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_TYPES = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64",
          "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool",
          "ComplexFloat": "complex64", "ComplexDouble": "complex128", "ComplexHalf": "complex32"}  # fmt: skip


def begin(path: Path) -> None:
    """Make the file, empty: processes of the run add to it when they end."""
    if path.suffix not in (".json", ".csv"):
        raise UserError(f"`--ops {path}`: the suffix sets the format", "name it `.json` or `.csv`")
    try:
        path.write_text("", encoding="utf-8")
    except OSError as error:
        raise cannot(f"write `{path}`", error) from error


def start(library: ctypes.CDLL) -> None:
    """Count from here on, and write what `--ops` asks for when the process ends."""
    path = variables.OPS.read()
    callback = _SITE(_site)
    library.jumar_record_stop.restype = ctypes.c_char_p
    library.jumar_record_start(callback)
    process = os.getpid()

    def finish() -> None:
        text = library.jumar_record_stop().decode(errors="replace")
        if path and os.getpid() == process and callback:  # a forked child has its parent's counts
            add(Path(path), [_operator(line) for line in text.splitlines()])

    atexit.register(finish)


def add(path: Path, found: list[Operator]) -> None:
    """Merge into the file, which other processes may be doing too."""
    with open(path, "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        text = file.read()
        rows: dict[tuple[str, str, str], Operator] = {}
        for item in [*parse(text, path.suffix), *found]:
            key = (item.name, item.how, item.dtypes)
            old = rows.get(key)
            rows[key] = (
                item if old is None else old._replace(calls=old.calls + item.calls, failed=old.failed + item.failed)
            )
        ordered = sorted(rows.values(), key=lambda item: (-item.calls, item.name, item.dtypes))
        file.seek(0)
        file.truncate()
        file.write(render(ordered, path.suffix))


def parse(text: str, suffix: str) -> list[Operator]:
    if not text:
        return []
    rows = json.loads(text)["operators"] if suffix == ".json" else list(csv.DictReader(io.StringIO(text)))
    return [Operator(**{**row, "calls": int(row["calls"]), "failed": int(row["failed"])}) for row in rows]


def render(operators: list[Operator], suffix: str) -> str:
    rows = [item._asdict() for item in operators]
    if suffix == ".json":
        return json.dumps({"version": 1, "operators": rows}, indent=1) + "\n"
    out = io.StringIO()
    writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _operator(line: str) -> Operator:
    name, how, types, count, failed, site = line.split("\t")
    names = ",".join(_TYPES.get(item, item.lower()) for item in types.split(",") if item)
    return Operator(name, names, how, int(count), int(failed), site)


def _site(text: int, room: int) -> int:
    """Where the program called the operator; the place where it waits, for operators of the backward pass."""
    try:
        frame: FrameType | None = sys._getframe(1) if sys._getframe().f_back else None
        found = own_frame(frame)
        if found is None:
            found = own_frame(sys._current_frames().get(threading.main_thread().ident or 0))
        shown = f"{found.f_code.co_filename}:{found.f_lineno}" if found else ""
        data = shown.encode(errors="replace")[: room - 1] + b"\0"
        ctypes.memmove(text, data, len(data))
    except Exception:  # no place is worth a failed run
        return 1
    return 0


def own_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the program itself, else the innermost one outside of torch."""
    outside = None
    here = os.getcwd() + os.sep
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((*_libraries(), "<frozen")):
            if "site-packages" not in name and (name.startswith(here) or not os.path.isabs(name)):
                return frame
            outside = outside or frame
        frame = frame.f_back
    return outside


@functools.cache
def _libraries() -> tuple[str, ...]:
    """The folders of torch, torch_npu and Jumar: a program may lie in folders of the same names."""
    specs = [importlib.util.find_spec(name) for name in ("torch", "torch_npu", "jumar")]
    return tuple(folder + os.sep for spec in specs if spec for folder in spec.submodule_search_locations or ())
