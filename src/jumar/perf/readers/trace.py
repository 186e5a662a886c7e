"""trace_view.json of torch_npu and MindSpore, msprof's traces and those of Kineto: operators, kernels, steps, calls.

Format: torch_npu 2.13 `profiler/analysis/prof_common_func/_trace_event_manager.py`. Its timestamps are strings in
microseconds since 1970 with three decimals, too long for a float: they become whole nanoseconds first.
"""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median
from sys import intern
from typing import Any, NamedTuple

from jumar.perf import spans
from jumar.perf.profile import HostOp, Kernel, Profile, ProfiledStep, is_communication
from jumar.perf.readers import frames, peaks
from jumar.perf.readers.collect import Collector, Raw
from jumar.perf.readers.events import Events

FAR = 6 * 3600 * 10**9
"""Nanoseconds from the middle of a trace after which a time is not believed."""
_LANES = {"HCCL", "Communication"}
"""Processes with collectives; `Overlap Analysis` has them again."""
_NO_KERNEL = re.compile(
    r"EVENT|NOTIFY|MEMCPY|SDMA|PCIE_DMA|RDMA|PLACE_HOLDER|WRITE.VALUE|REDUCE_ASYNC|PROFILING|STARS_COMMON", re.I
)
"""Tasks of a card that wait or copy; the rest computes. So counts msprof."""
MB = 1 << 20
_LONGEST = 2000
"""Characters kept of a call stack or shape."""
OF_A_GPU = "the kernels are those of a GPU: times are that GPU's, the changes are for an NPU"


class Trace(NamedTuple):
    origin: int
    """Nanoseconds: zero of the times in the profile."""
    kernels: list[Kernel]
    comm: list[Kernel]


def read(path: Path, profile: Profile) -> Trace:
    """Fill host operators, steps and calls into `profile`; return the kernels that the trace itself has."""
    events = Events(path)
    collected = Collector()
    for piece in events:
        collected.take(piece)
    if events.truncated:
        profile.notes.append(f"`{path.name}` is truncated: the rest is missing")
    if events.skipped or collected.bad:
        profile.notes.append(
            f"`{path.name}` is damaged: {events.skipped:,} bytes and {collected.bad:,} events were left out"
        )
    return sort(collected, path, profile)


def sort(found: Collector, path: Path, profile: Profile) -> Trace:
    every = [*found.host, *found.other, *found.gpu]
    if not every:
        profile.notes.append(f"`{path.name}` has no events with a duration")
        return Trace(0, [], [])
    middle = int(median(raw[3] for raw in every[:: max(1, len(every) // 10_000)]))
    low, high = middle - FAR, middle + FAR
    kept = [raw for raw in every if low <= raw[3] <= high and raw[4] <= FAR]
    if len(kept) < len(every):
        far = len(every) - len(kept)
        profile.notes.append(f"`{path.name}`: {far:,} events are hours away from the others and were skipped")
        found.host, found.other, found.gpu = (
            [raw for raw in rows if low <= raw[3] <= high and raw[4] <= FAR]
            for rows in (found.host, found.other, found.gpu)
        )
    origin = min(raw[3] for raw in kept) if kept else middle
    _host(found.host, origin, profile)
    profile.steps += [
        ProfiledStep(name.rpartition(" ")[2], (start - origin) / 1000, (start + length - origin) / 1000)
        for name, _, _, start, length, _ in found.iterations
    ]
    profile.steps.sort(key=lambda step: step.start)
    profile.host = frames.attach(profile.host, found.frames, origin)
    _calls(found, origin, profile)
    if found.memory:
        peaks.peaks([(at, one / MB, other / MB) for at, one, other in found.memory], profile)
    if found.gpu:
        profile.notes.append(OF_A_GPU)
    return _kernels(found, origin)


def _kernels(found: Collector, origin: int) -> Trace:
    device = {pid for pid, name in found.processes.items() if name == "Ascend Hardware"}
    sent = {end: found.flow_start[key] for key, end in found.flow_end.items() if key in found.flow_start}
    kernels = [_kernel(raw, origin, sent) for raw in found.other if raw[1] in device and _computes(raw[5])]
    comm = [_kernel(raw, origin, sent) for raw in found.other if _is_collective(found, raw)]
    for name, _, stream, start, length, link in found.gpu:
        host, thread, call = found.launches.get(link, (0, 0, 0))
        at = (start - origin) / 1000
        when = (host - origin) / 1000 if host else -1.0
        kernel = Kernel(name, name, "", at, at + length / 1000, "", "", "", when, thread, call / 1000, stream)
        (comm if is_communication(name) else kernels).append(kernel)
    return Trace(origin, sorted(kernels, key=lambda item: item.start), sorted(comm, key=lambda item: item.start))


def _computes(task: Any) -> bool:
    return type(task) is not str or not _NO_KERNEL.search(task)


def _is_collective(found: Collector, raw: Raw) -> bool:
    """Threads named `Plane 0` have the steps of a collective, the others whole ones; old traces name no threads."""
    if found.processes.get(raw[1]) not in _LANES:
        return False
    lane = found.threads.get((raw[1], raw[2]), "")
    return "Communication" in lane or (not lane.startswith("Plane") and is_communication(raw[0]))


def _calls(found: Collector, origin: int, profile: Profile) -> None:
    pids = {pid for pid, name in found.processes.items() if name == "CANN"}
    known = {pid for pid, name in found.processes.items() if name in ("Ascend Hardware", "CANN")}
    pids |= {pid for pid, _ in found.calls} if not known else set()
    for (pid, name), (count, total) in found.calls.items():
        if pid in pids:
            before = profile.calls.get(name, (0, 0.0))
            profile.calls[name] = before[0] + count, before[1] + total / 1000
    starts = [((raw[3] - origin) / 1000, raw[4] / 1000) for raw in found.waits if raw[1] in pids and raw[4] <= FAR]
    profile.waits = spans.union((start, start + length) for start, length in starts)


def _host(rows: list[Raw], origin: int, profile: Profile) -> None:
    for name, _, thread, begin, length, args in rows:
        start = (begin - origin) / 1000
        end = start + length / 1000
        if name.startswith("ProfilerStep#"):
            profile.steps.append(ProfiledStep(name.removeprefix("ProfilerStep#"), start, end))
        elif type(args) is dict and (len(args) != 2 or "Sequence number" not in args):
            get = args.get
            shapes = get("Input Dims") or get("Input dims")
            texts = _text(shapes), _text(get("Input type")), _text(get("Call stack"))
            concrete = _text(get("Concrete Inputs")) if "conv" in name else ""
            profile.host.append(HostOp(name, start, end, thread, *texts, _flow(get("Jumar tensors")), concrete))
        else:
            profile.host.append(HostOp(name, start, end, thread))
    profile.host.sort(key=lambda op: (op.start, -op.end))


def _text(value: Any) -> str:
    if not value:
        return ""
    return intern(value if type(value) is str else str(value))[:_LONGEST]


def _flow(value: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    if type(value) is not list or len(value) != 2:
        return None
    read, written = value
    return tuple(read), tuple(written)


def _kernel(raw: Raw, origin: int, sent: dict[int, tuple[int, int]]) -> Kernel:
    name, _, stream, begin, length, core = raw
    start = (begin - origin) / 1000
    host, thread = sent.get(begin, (0, 0))
    when = (host - origin) / 1000 if host else -1.0
    if type(core) is not str:
        core = ""
    core = core or ("AI_CPU" if "AiCpu" in name else "")
    lane = stream if type(stream) is int else 0
    return Kernel(
        name, type_of(name), intern(core), start, start + length / 1000, "", "", "", when, thread, stream=lane
    )


_NUMBERED = re.compile(r"(?:trans_)?(?P<type>[A-Za-z][A-Za-z0-9]*?(?:V\d|2D|3D)?)_?\d*")


def type_of(name: str) -> str:
    """Of a kernel, where only its name is known: `aclnnMm_MatMulV2_MatMulV2`, `trans_TransData_0`, `Conv2D1`."""
    if name.startswith("aclnn"):
        return intern(name.rpartition("_")[2])
    if "/" in name:
        name = name.rpartition("/")[2].partition("-op")[0]
    if name.startswith("hcom_"):
        return intern(name.partition("__")[0])
    match = _NUMBERED.fullmatch(name)
    return intern(match["type"]) if match else name
