"""Finds the profiles under a path, one for each rank, and reads one: a folder of the Ascend profiler or a trace."""

from __future__ import annotations

import contextlib
import gc
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.perf.profile import Kernel, Profile
from jumar.perf.readers import tables, trace

OUTPUT = "ASCEND_PROFILER_OUTPUT"
_SUFFIXES = ("_ascend_pt", "_ascend_ms")
_FAR = trace.FAR / 1000
ANALYSE = "python -c 'from torch_npu.profiler.profiler import analyse; analyse(\"{}\")'"


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
        return [Source(0, path)]
    outputs = _outputs(path)
    if outputs:
        numbered = [(_rank(output), output) for output in outputs]
        taken = [rank for rank, _ in numbered if rank is not None]
        if len(set(taken)) == len(numbered):
            return sorted(Source(rank or 0, output) for rank, output in numbered)
        return [Source(index, output) for index, output in enumerate(outputs)]
    traces = sorted([*path.glob("*.pt.trace.json"), *path.glob("*.pt.trace.json.gz"), *path.glob("trace_view.json")])
    if traces:
        return [Source(index, item) for index, item in enumerate(traces)]
    raise _nothing(path)


def load(source: Source) -> Profile:
    """All that the files of one rank say."""
    path = source.path
    profile = Profile(source.rank, str(path))
    try:
        with _without_collector():
            _trace_alone(path, profile) if path.is_file() else _folder(path, profile)
            _drop_far(profile)
    except OSError as error:
        raise UserError(f"cannot read `{error.filename or path}`: {error.strerror or error}") from error
    if not (profile.kernels or profile.comm or profile.host):
        raise UserError(f"nothing to read in `{path}`", "; ".join(profile.notes) or None)
    return profile


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Looking for cycles among half a million values that have none takes as long as reading them."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _trace_alone(path: Path, profile: Profile) -> None:
    found = trace.read(path, profile)
    profile.kernels, profile.comm = found.kernels, found.comm


def _folder(path: Path, profile: Profile) -> None:
    origin = 0
    if (path / "trace_view.json").is_file():
        found = trace.read(path / "trace_view.json", profile)
        origin = found.origin
        profile.kernels, profile.comm = found.kernels, found.comm
    if (path / "kernel_details.csv").is_file():
        kernels, comm = tables.kernels(path / "kernel_details.csv", profile, origin)
        profile.kernels = _with_host(kernels, profile.kernels) if kernels else profile.kernels
        profile.comm = comm or profile.comm
    readers = {
        "operator_details.csv": tables.operators,
        "step_trace_time.csv": tables.steps,
        "memory_record.csv": tables.memory,
        "communication.json": tables.collectives,
    }
    for name, read in readers.items():
        if (path / name).is_file():
            read(path / name, profile)
    tables.facts(path.parent if path.name == OUTPUT else path, profile)


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
        profile.notes.append(f"{len(every) - len(near):,} kernels lie hours away from the others and were left out")
    if not near:
        profile.kernels, profile.comm = [], []
        return
    zero = min(item.start for item in near) if not profile.host else 0.0
    if profile.host and abs(middle) > _FAR:
        profile.notes.append("the kernels and the trace are not of the same time: the host side was left out")
        profile.host, profile.steps = [], []
        zero = min(item.start for item in near)
    kept = set(near)
    profile.kernels = [_moved(item, zero) for item in profile.kernels if item in kept]
    profile.comm = [_moved(item, zero) for item in profile.comm if item in kept]


def _moved(item: Kernel, zero: float) -> Kernel:
    return item._replace(start=item.start - zero, end=item.end - zero) if zero else item


def _outputs(path: Path) -> list[Path]:
    if path.name == OUTPUT or (path / "kernel_details.csv").is_file():
        return [path]
    if (path / OUTPUT).is_dir():
        return [path / OUTPUT]
    found = [item for suffix in _SUFFIXES for item in path.glob(f"*{suffix}")]
    found += [item for suffix in _SUFFIXES for item in path.glob(f"*/*{suffix}")]
    return sorted({item / OUTPUT for item in found if (item / OUTPUT).is_dir()})


def _rank(output: Path) -> int | None:
    for item in output.parent.glob("profiler_info_*.json"):
        if number := re.fullmatch(r"profiler_info_(\d{1,6})\.json", item.name):
            return int(number[1])
    return None


def _nothing(path: Path) -> UserError:
    if list(path.glob("**/ascend_pytorch_profiler*.db"))[:1]:
        return UserError(
            f"`{path}` has only databases", "profile with `export_type=torch_npu.profiler.ExportType.Text`"
        )
    raw = [item for item in [path, *path.glob("*")] if item.is_dir() and list(item.glob("PROF_*"))[:1]]
    if raw:
        return UserError(f"`{raw[0]}` was not analysed yet", ANALYSE.format(raw[0]))
    return UserError(f"no profile in `{path}`", f"expected a `*_ascend_pt` folder with `{OUTPUT}`, or a `.json` trace")
