"""Finds the profiles under a path, one for each rank, and reads one: a folder of the Ascend profiler or a trace."""

from __future__ import annotations

import contextlib
import gc
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from jumar.core import read as contents
from jumar.core.errors import UserError, cannot
from jumar.core.nearest import did_you_mean
from jumar.perf.profile import Kernel, Profile
from jumar.perf.readers import database, memory, tables, trace
from jumar.perf.readers.base import MAGIC
from jumar.perf.readers.events import head, is_trace

OUTPUT = "ASCEND_PROFILER_OUTPUT"
MSPROF = "mindstudio_profiler_output"
"""What `msprof --export=on` leaves in a `PROF_*` folder."""
_FAR = trace.FAR / 1000
ANALYSE = "python -c 'from torch_npu.profiler.profiler import analyse; analyse(\"{}\")'"

UNKNOWN = "no operators of torch and no process `Ascend Hardware`: made by another tool?"


class Source(NamedTuple):
    """One rank's files."""

    rank: int
    path: Path
    """The folder with the text files, or a trace."""


def find(path: Path) -> list[Source]:
    """The profiles at a path, by rank."""
    if not path.exists():
        near = [str(path.parent / item.name) for item in path.parent.iterdir()] if path.parent.is_dir() else []
        raise UserError(f"no such file or folder: `{path}`", did_you_mean(str(path), near, "check the path"))
    if path.is_file():
        return _summaries(path) or [Source(_trace_rank(path) or 0, path)]
    if outputs := _outputs(path):
        return _numbered([(_rank(output), output) for output in outputs])
    if traces := _traces(path):
        return _numbered([(_trace_rank(item), item) for item in traces])
    for summary in _first(path, *tables.STEPS, f"*/{tables.STEPS[0]}"):
        if found := _summaries(summary):
            return found
    raise _nothing(path)


def _summaries(path: Path) -> list[Source]:
    """The ranks of a table of steps: what is left of a profile that was summed up and not kept."""
    return [Source(rank, path) for rank in tables.step_ranks(path)] if path.suffix == ".csv" else []


def _numbered(found: list[tuple[int | None, Path]]) -> list[Source]:
    """By the ranks that the files give, or by their order where those are missing or not one for each."""
    taken = {rank for rank, _ in found if rank is not None}
    if len(taken) == len(found):
        return sorted(Source(rank or 0, path) for rank, path in found)
    return [Source(index, path) for index, (_, path) in enumerate(found)]


def load(source: Source) -> Profile:
    """All that the files of one rank say."""
    path = source.path
    profile = Profile(source.rank, str(path))
    try:
        with _without_collector():
            _file(path, profile) if path.is_file() else _folder(path, profile)
            _drop_far(profile)
    except OSError as error:
        raise cannot(f"read `{error.filename or path}`", error) from error
    if not (profile.kernels or profile.comm or profile.host or profile.step_rows):
        raise UserError(f"nothing to read in `{path}`", "; ".join(profile.notes) or UNKNOWN)
    return profile


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Looking for cycles among half a million values that have none takes as long as reading them."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # nor is there anything to find later
        if collecting:
            gc.enable()


def _file(path: Path, profile: Profile) -> None:
    if path.suffix == ".csv" and tables.step_ranks(path):
        tables.steps(path, profile)
        return
    if path.suffix == ".csv":
        profile.kernels, profile.comm = tables.kernels(path, profile, 0)
        return
    with contents.opened(path) as file:
        packed = file.read(len(MAGIC)) == MAGIC
    if packed and path.name == database.ANALYSIS:
        database.analysis(path, profile)
        return
    found = database.read(path, profile) if packed else trace.read(path, profile)
    profile.kernels, profile.comm = found.kernels, found.comm


def _folder(path: Path, profile: Profile) -> None:
    traces = _first(path, "trace_view.json", "msprof_*.json")
    lists = _first(path, "kernel_details.csv", "op_summary_*.csv")
    bases = _first(path, *database.NAMES) if not traces and not lists else []
    origin = 0
    for item in [*traces, *bases][:1]:
        found = trace.read(item, profile) if traces else database.read(item, profile)
        origin = found.origin
        profile.kernels, profile.comm = found.kernels, found.comm
    for item in lists:
        kernels, comm = tables.kernels(item, profile, origin)
        profile.kernels = _with_host(kernels, profile.kernels) if kernels else profile.kernels
        profile.comm = comm or profile.comm
    readers = {
        "operator_details.csv": tables.operators,
        "step_trace_time.csv": tables.steps,
        "memory_record.csv": memory.record,
        "operator_memory.csv": memory.operators,
        "communication.json": tables.collectives,
    }
    for name, read in readers.items():
        if (path / name).is_file():
            read(path / name, profile)
    if not profile.step_rows and not profile.collectives and (path / database.ANALYSIS).is_file():
        database.analysis(path / database.ANALYSIS, profile)
    tables.facts(path.parent if path.name == OUTPUT else path, profile)


def _first(path: Path, *patterns: str) -> list[Path]:
    """The files of the first pattern that has any; msprof cuts long tables into several."""
    for pattern in patterns:
        if found := sorted(item for item in path.glob(pattern) if item.is_file()):
            return found
    return []


def _with_host(rows: list[Kernel], traced: list[Kernel]) -> list[Kernel]:
    """Rows of the table, each with the time the trace says it was sent at."""
    sent = {round(item.start, 3): item for item in traced if item.host >= 0}
    joined = []
    for row in rows:
        item = sent.get(round(row.start, 3))
        joined.append(row._replace(host=item.host, thread=item.thread) if item else row)
    return joined


def _drop_far(profile: Profile) -> None:
    """Kernels of a damaged row, and times since 1970 where no trace says where zero is."""
    every = [*profile.kernels, *profile.comm]
    if not every:
        return
    middle = median(item.start for item in every)
    near = [item for item in every if abs(item.start - middle) <= _FAR and item.duration <= _FAR]
    if len(near) < len(every):
        profile.notes.append(f"{len(every) - len(near):,} kernels are hours away from the others and were skipped")
    if not near:
        profile.kernels, profile.comm = [], []
        return
    zero = min(item.start for item in near) if not profile.host else 0.0
    if profile.host and abs(middle) > _FAR:
        profile.notes.append("the kernels and the trace are not from the same time: the host side was skipped")
        profile.host, profile.steps = [], []
        zero = min(item.start for item in near)
    kept = set(near)
    profile.kernels = [_moved(item, zero) for item in profile.kernels if item in kept]
    profile.comm = [_moved(item, zero) for item in profile.comm if item in kept]


def _moved(item: Kernel, zero: float) -> Kernel:
    return item._replace(start=item.start - zero, end=item.end - zero) if zero else item


def _outputs(path: Path) -> list[Path]:
    """Folders with the files of one rank each."""
    if path.name in (OUTPUT, MSPROF) or _first(path, "kernel_details.csv", "op_summary_*.csv", *database.NAMES):
        return [path]
    for name in (OUTPUT, MSPROF):
        for level in ("", "*/", "*/*/", "*/*/*/"):
            if found := sorted(item for item in path.glob(f"{level}{name}") if item.is_dir()):
                return found
    return []


def _traces(path: Path) -> list[Path]:
    """Traces in a folder: those named like one, or else every JSON file that begins like one."""
    named = [*path.glob("*.pt.trace.json"), *path.glob("*.pt.trace.json.gz"), *path.glob("trace_view.json")]
    return sorted(named) or sorted(item for item in [*path.glob("*.json"), *path.glob("*.json.gz")] if is_trace(item))


def _rank(output: Path) -> int | None:
    for item in [*output.parent.glob("profiler_info_*.json"), *_first(output, *database.NAMES)]:
        if number := re.fullmatch(r"\w+?_(\d{1,6})\.(?:json|db)", item.name):
            return int(number[1])
    return None


def _trace_rank(path: Path) -> int | None:
    """Kineto writes the rank before the events; people write it into the name."""
    match = re.search(rb'"distributedInfo"\s*:\s*\{[^{}\[]*"rank"\s*:\s*(\d{1,6})', head(path))
    match = match or re.search(rb"rank[-_]?(\d{1,6})", path.name.encode("utf-8", "replace"), re.I)
    return int(match[1]) if match else None


def _nothing(path: Path) -> UserError:
    raw = [item for item in [path, *path.glob("*")] if item.is_dir() and list(item.glob("PROF_*"))[:1]]
    if raw:
        return UserError(f"`{raw[0]}` was not analysed yet", ANALYSE.format(raw[0]))
    return UserError(
        f"no profile in `{path}`", f"expected a `*_ascend_pt` folder with `{OUTPUT}`, a `.json` trace or a `.db`"
    )
