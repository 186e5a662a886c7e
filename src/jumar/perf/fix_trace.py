"""Writes a trace that Perfetto and chrome://tracing show rightly: numeric timestamps that count from the first event.

torch_npu writes timestamps as text, in microseconds since 1970; as a float that leaves steps of a quarter microsecond,
more than many kernels last (Ascend/pytorch#133).
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from jumar.core import links
from jumar.core.errors import UserError, cannot
from jumar.perf.readers.collect import nanoseconds
from jumar.perf.readers.events import Event, Events


class Fixed(NamedTuple):
    events: int
    left_out: int
    """Events without a usable time."""
    skipped: int
    """Bytes that were no events."""
    truncated: bool


def fix(source: Path, target: Path) -> Fixed:
    """Read twice (the first event in time may stand anywhere), write once; the target appears whole or not at all."""
    if not source.is_file():
        raise UserError(
            f"no trace to fix: `{source}`", "tables and databases have none: profile with `export_type` Text"
        )
    if target.exists() and os.path.samefile(source, target):
        raise UserError("input and output are the same file", "name another file with `-o`")
    if target.exists() and not target.is_file():
        raise UserError(f"`{target}` is not a file", "name a file with `-o`")
    target = links.inside(target)
    origin = _origin(source)
    handle, name = -1, ""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".jumar", dir=target.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            done = _write(source, file, origin)
        os.chmod(name, 0o644)
        os.replace(name, target)
    except OSError as error:
        _remove(name)
        raise cannot(f"write `{target}`", error) from error
    except BaseException:
        _remove(name)
        raise
    return done


def _write(source: Path, file: IO[str], origin: int) -> Fixed:
    events = Events(source)
    written = left_out = 0
    file.write('{"displayTimeUnit": "ns", "traceEvents": [')
    for piece in events:
        for event in piece:
            line = _fixed(event, origin) if isinstance(event, dict) else None
            if line is None:
                left_out += 1
                continue
            file.write("\n" if not written else ",\n")
            file.write(line)
            written += 1
    file.write("\n]}\n")
    return Fixed(written, left_out, events.skipped, events.truncated)


def _fixed(event: Event, origin: int) -> str | None:
    try:
        if "ts" in event:
            event["ts"] = (nanoseconds(event["ts"]) - origin) / 1000
        elif event.get("ph") != "M":
            return None
        if "dur" in event:
            event["dur"] = max(0.0, float(event["dur"]))
        return json.dumps(event, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, OverflowError):
        return None


def _origin(source: Path) -> int:
    first = None
    for start in _starts(source):
        first = start if first is None or start < first else first
    if first is None:
        raise UserError(f"no events with a time in `{source}`")
    return first


def _starts(source: Path) -> Iterator[int]:
    for piece in Events(source):
        for event in piece:
            try:
                if event.get("ph") != "M":
                    yield nanoseconds(event["ts"])
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
                continue


def _remove(name: str) -> None:
    if name and os.path.exists(name):
        os.unlink(name)
