"""The CSV and JSON files beside the trace: kernels, operators, steps, collectives, environment.

Formats: torch_npu 2.13 `profiler/analysis`, kernel_details.csv of CANN 7 to 9 (columns were renamed and added; they
are found by name). Files come in UTF-8, or in GBK where somebody opened and saved them in a Chinese spreadsheet.
"""

from __future__ import annotations

import contextlib
import csv
import io
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jumar.core import read
from jumar.core.errors import UserError
from jumar.core.words import counted
from jumar.perf.profile import Collective, Kernel, Profile, StepRow, is_communication
from jumar.perf.readers.collect import nanoseconds
from jumar.perf.readers.trace import type_of

MAX_JSON = 512 << 20
STEPS = ("cluster_step_trace_time.csv", "step_trace_time.csv")
"""Of all ranks, as `msprof-analyze cluster` writes it; of one."""
_FIELD = 1 << 20


def rows(path: Path, profile: Profile) -> Iterator[dict[str, str]]:
    """Rows by column name; a broken end is said and left out."""
    csv.field_size_limit(_FIELD)
    bad = 0
    encoding = _encoding(path)
    with io.TextIOWrapper(read.opened(path), encoding, "replace", newline="") as file:
        reader = csv.DictReader(line.replace("\0", "") for line in file)
        try:
            for row in reader:
                if None in row or None in row.values():
                    bad += 1
                    continue
                yield {name.strip(): value for name, value in row.items()}
        except csv.Error as error:
            profile.notes.append(f"`{path.name}`, line {reader.line_num:,}: {error}; the rest was left out")
    if bad:
        profile.notes.append(f"`{path.name}`: left out {counted(bad, 'row')} with too few or too many fields")


def kernels(path: Path, profile: Profile, origin: int) -> tuple[list[Kernel], list[Kernel]]:
    """Kernels and collectives of kernel_details.csv."""
    found: list[Kernel] = []
    comm: list[Kernel] = []
    bad = 0
    for row in rows(path, profile):
        name = row.get("Name") or row.get("Op Name") or ""
        core = known(row.get("Accelerator Core") or row.get("Task Type"))
        try:
            start = nanoseconds(row.get("Start Time(us)") or row.get("Task Start Time(us)") or "")
            length = positive(row.get("Duration(us)") or row.get("Task Duration(us)"))
        except ValueError:
            bad += 1
            continue
        begin = (start - origin) / 1000
        kernel = Kernel(
            sys.intern(name),
            sys.intern(known(row.get("Type") or row.get("OP Type")) or type_of(name)),
            sys.intern(core),
            begin,
            begin + length,
            sys.intern(known(row.get("Input Shapes")).strip('"')),
            sys.intern(known(row.get("Input Data Types"))),
            sys.intern(known(row.get("OP State"))),
        )
        (comm if is_communication(name, core) else found).append(kernel)
    if bad:
        profile.notes.append(f"`{path.name}`: left out {counted(bad, 'row')} without a time")
    return sorted(found, key=lambda item: item.start), sorted(comm, key=lambda item: item.start)


def operators(path: Path, profile: Profile) -> None:
    """operator_details.csv: host and device time by operator."""
    for row in rows(path, profile):
        name = sys.intern(row.get("Name", ""))
        try:
            host = positive(row.get("Host Self Duration(us)"))
            device = positive(row.get("Device Self Duration(us)"))
        except ValueError:
            continue
        count, host_sum, device_sum, stack = profile.operators.get(name, (0, 0.0, 0.0, ""))
        stack = stack or row.get("Call Stack", "")
        profile.operators[name] = count + 1, host_sum + host, device_sum + device, stack


def step_ranks(path: Path) -> list[int]:
    """The ranks that a table of steps has rows of; none for other tables."""
    nobody = Profile(0, str(path))
    found = {_index(row) for row in rows(path, nobody) if "Computing" in row}
    return sorted(rank for rank in found if rank is not None)


def _index(row: dict[str, str]) -> int | None:
    """The table of one rank has no column for it; that of a cluster has rows of pipeline stages too."""
    if "Type" not in row:
        return 0
    return int(row["Index"]) if row["Type"] == "rank" and row.get("Index", "").isdecimal() else None


def steps(path: Path, profile: Profile) -> None:
    """step_trace_time.csv, or this rank's rows of msprof-analyze's table of a cluster."""
    for row in rows(path, profile):
        if "Type" in row and _index(row) != profile.rank:
            continue
        try:
            values = [
                positive(row.get(name)) for name in ("Computing", "Communication(Not Overlapped)", "Overlapped", "Free")
            ]
        except ValueError:
            continue
        profile.step_rows.append(StepRow(row.get("Step", ""), *values))


def collectives(path: Path, profile: Profile) -> None:
    """communication.json: time and volume of every collective."""
    document = document_of(path, profile)
    for step in (document or {}).values():
        for group in step.values() if isinstance(step, dict) else ():
            for name, info in group.items() if isinstance(group, dict) else ():
                if str(name).startswith("Total"):
                    continue
                try:
                    profile.collectives.append(_collective(name, info))
                except (KeyError, TypeError, ValueError, AttributeError):
                    profile.notes.append(f"`{path.name}`: `{str(name)[:80]}` was left out")


def facts(folder: Path, profile: Profile) -> None:
    """profiler_info_<rank>.json and profiler_metadata.json: the environment, and whether times are modelled."""
    for path in sorted(folder.glob("profiler_metadata.json")):
        document = document_of(path, profile) or {}
        environment(document.get("ENV_VARIABLES"), profile)
        made = document.get("jumar")
        if isinstance(made, dict):
            profile.modelled = str(made.get("modelled", ""))
            profile.chip = str(made.get("chip", ""))
            jit = made.get("jit_compile")
            profile.jit_compile = jit if isinstance(jit, bool) else None
            notes = made.get("notes")
            profile.notes += map(str, notes) if isinstance(notes, list) else []


def environment(value: Any, profile: Profile) -> None:
    """The variables of the run; databases have them as JSON in a text."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = read.decoded(value)
    if isinstance(value, dict):
        profile.environment = {str(name): str(text) for name, text in value.items()}


def document_of(path: Path, profile: Profile) -> dict[str, Any] | None:
    """A small JSON object, None with a note where it is none."""
    if path.stat().st_size > MAX_JSON:
        profile.notes.append(f"`{path.name}` is larger than {MAX_JSON >> 20} MiB and was left out")
        return None
    try:
        document = read.decoded(read.content(path, most=MAX_JSON).decode(_encoding(path), "replace"))
    except (ValueError, UserError):
        document = None
    if not isinstance(document, dict):
        profile.notes.append(f"`{path.name}` is not a JSON object and was skipped")
        return None
    return document


def _collective(name: str, info: dict[str, Any]) -> Collective:
    times = info["Communication Time Info"]
    links = info.get("Communication Bandwidth Info", {})
    size = sum(positive(links[kind].get("Transit Size(MB)", 0)) for kind in links if kind != "SDMA")
    return Collective(
        str(name).split("@")[0],
        positive(times["Elapse Time(ms)"]) * 1000,
        positive(times.get("Transit Time(ms)", 0)) * 1000,
        positive(times.get("Wait Time(ms)", 0)) * 1000,
        size,
    )


def known(value: str | None) -> str:
    """Profiles of level 0 have a column and no values in it."""
    return "" if value in (None, "N/A") else value or ""


def positive(value: Any) -> float:
    number = float(value if value not in (None, "", "N/A") else "x")
    if not math.isfinite(number) or number < 0 or number > 1e13:
        raise ValueError
    return number


def _encoding(path: Path) -> str:
    with read.opened(path) as file:
        head = file.read(1 << 20)
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:
            return _other(head)
    return "utf-8-sig"


def _other(head: bytes) -> str:
    """GBK where all of it is GBK; else UTF-8 with some bytes damaged."""
    try:
        head[: head.rfind(b"\n") + 1].decode("gb18030")
    except UnicodeDecodeError:
        return "utf-8-sig"
    return "gb18030"
