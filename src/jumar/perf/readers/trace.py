"""trace_view.json of torch_npu and the traces of Kineto: host operators, kernels, steps, calls into CANN.

Format: torch_npu 2.13 `profiler/analysis/prof_common_func/_trace_event_manager.py`. Its timestamps are strings in
microseconds since 1970 with three decimals, too long for a float: they become whole nanoseconds first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from sys import intern
from typing import Any, NamedTuple

from jumar.perf import spans
from jumar.perf.profile import HostOp, Kernel, Profile, Step, is_communication
from jumar.perf.readers.events import Event, Events

FAR = 6 * 3600 * 10**9
"""Nanoseconds from the middle of a trace after which a time is not believed."""
_KERNEL_CATS = {"kernel", "gpu_memcpy", "gpu_memset"}
_LANES = {"HCCL", "Communication"}
"""Processes with collectives; `Overlap Analysis` has them again."""
_WAITS = ("Synchronize", "aclrtMemcpy")
"""Calls of CANN that return when the card is done."""
_LONGEST = 2000
"""Characters kept of a call stack or shape."""


class Trace(NamedTuple):
    origin: int
    """Nanoseconds: zero of the times in the profile."""
    kernels: list[Kernel]
    comm: list[Kernel]


Raw = tuple[str, Any, int, int, int, Any]
"""Name, process, thread, start and length in nanoseconds, arguments or kind of core: plain, as there are many."""


class Collector:
    """Takes events one by one; the roles of processes are known only at the end."""

    def __init__(self) -> None:
        self.host: list[Raw] = []
        self.other: list[Raw] = []
        self.gpu: list[Raw] = []
        self.cann: dict[tuple[Any, str], tuple[int, int]] = {}
        self.waits: list[Raw] = []
        self.processes: dict[Any, str] = {}
        self.flow_start: dict[Any, tuple[int, int]] = {}
        self.flow_end: dict[Any, int] = {}
        self.bad = 0

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            try:
                kind = event["ph"]
                if kind == "X":
                    self._span(event)
                elif kind == "s":
                    if event["name"] == "torch_to_npu":
                        self.flow_start[event["id"]] = nanoseconds(event["ts"]), _number(event.get("tid"))
                elif kind == "f":
                    if event["name"] == "torch_to_npu":
                        self.flow_end[event["id"]] = nanoseconds(event["ts"])
                elif kind == "M" and event["name"] == "process_name":
                    self.processes[_process(event)] = str(event["args"].get("name"))
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
                self.bad += 1

    def _span(self, event: Event) -> None:
        category = event.get("cat")
        if category == "enqueue" or category == "dequeue":
            return
        name = intern(event["name"])
        spent = event.get("dur", 0)
        length = int((spent if type(spent) is float or type(spent) is int else float(spent)) * 1000)
        if length < 0:
            length = 0
        if category is None and "@" in name:
            self._call(name, length, event)
            return
        thread = event.get("tid")
        if type(thread) is not int:
            thread = _number(thread)
        args = event.get("args")
        start = nanoseconds(event["ts"])
        if category == "cpu_op" or category == "user_annotation":
            self.host.append((name, None, thread, start, length, args))
        elif category is None:
            core = args.get("Task Type") if args else None
            self.other.append((name, _process(event), thread, start, length, core))
        elif category in _KERNEL_CATS:
            self.gpu.append((name, None, thread, start, length, None))

    def _call(self, name: str, length: int, event: Event) -> None:
        """Of CANN, such as `AscendCL@aclrtSynchronizeStream`: all that is kept is how often and how long."""
        key = _process(event), name
        count, total = self.cann.get(key, (0, 0))
        self.cann[key] = count + 1, total + length
        if "Async" not in name and any(part in name for part in _WAITS):
            self.waits.append((name, key[0], 0, nanoseconds(event["ts"]), length, None))


def read(path: Path, profile: Profile) -> Trace:
    """Fill host operators, steps and CANN calls into `profile`; return the kernels that the trace itself has."""
    events = Events(path)
    collected = Collector()
    for piece in events:
        collected.take(piece)
    if events.truncated:
        profile.notes.append(f"`{path.name}` breaks off: what comes after is missing")
    if events.skipped or collected.bad:
        profile.notes.append(
            f"`{path.name}` is damaged: {events.skipped:,} bytes and {collected.bad:,} events were left out"
        )
    return _sort(collected, path, profile)


def nanoseconds(value: Any) -> int:
    """A timestamp in microseconds, exactly where it is text."""
    if type(value) is str:
        if value[-4:-3] == ".":
            return int(value[:-4]) * 1000 + int(value[-3:])
        whole, _, part = value.strip().partition(".")
        return int(whole) * 1000 + int((part + "000")[:3])
    if type(value) is int:
        return value * 1000
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    return round(number * 1000)


def _process(event: Event) -> Any:
    pid = event.get("pid")
    return pid if type(pid) is int else str(pid)


def _number(value: Any) -> int:
    if type(value) is int:
        return value
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return -1 - hash(str(value)) % 1_000_000


def _sort(found: Collector, path: Path, profile: Profile) -> Trace:
    every = [*found.host, *found.other, *found.gpu]
    if not every:
        profile.notes.append(f"`{path.name}` has no events with a duration")
        return Trace(0, [], [])
    middle = int(median(raw[3] for raw in every[:: max(1, len(every) // 10_000)]))
    low, high = middle - FAR, middle + FAR
    kept = [raw for raw in every if low <= raw[3] <= high and raw[4] <= FAR]
    if len(kept) < len(every):
        far = len(every) - len(kept)
        profile.notes.append(f"`{path.name}`: {far:,} events lie hours away from the others and were left out")
        found.host, found.other, found.gpu = (
            [raw for raw in rows if low <= raw[3] <= high and raw[4] <= FAR]
            for rows in (found.host, found.other, found.gpu)
        )
    origin = min(raw[3] for raw in kept) if kept else middle
    _host(found.host, origin, profile)
    _cann(found, origin, profile)
    return _kernels(found, origin)


def _kernels(found: Collector, origin: int) -> Trace:
    device = {pid for pid, name in found.processes.items() if name == "Ascend Hardware"}
    lanes = {pid for pid, name in found.processes.items() if name in _LANES}
    sent = {end: found.flow_start[key] for key, end in found.flow_end.items() if key in found.flow_start}
    kernels = [_kernel(raw, origin, sent) for raw in found.other if raw[1] in device]
    comm = [_kernel(raw, origin, sent) for raw in found.other if raw[1] in lanes and is_communication(raw[0])]
    for name, _, _, start, length, _ in found.gpu:
        at = (start - origin) / 1000
        kernel = Kernel(name, name, "", at, at + length / 1000)
        (comm if is_communication(name) else kernels).append(kernel)
    return Trace(origin, sorted(kernels, key=lambda item: item.start), sorted(comm, key=lambda item: item.start))


def _cann(found: Collector, origin: int, profile: Profile) -> None:
    pids = {pid for pid, name in found.processes.items() if name == "CANN"}
    for (pid, name), (count, total) in found.cann.items():
        if pid in pids:
            before = profile.cann.get(name, (0, 0.0))
            profile.cann[name] = before[0] + count, before[1] + total / 1000
    starts = [((raw[3] - origin) / 1000, raw[4] / 1000) for raw in found.waits if raw[1] in pids and raw[4] <= FAR]
    profile.waits = spans.union((start, start + length) for start, length in starts)


def _host(rows: list[Raw], origin: int, profile: Profile) -> None:
    for name, _, thread, begin, length, args in rows:
        start = (begin - origin) / 1000
        end = start + length / 1000
        if name.startswith("ProfilerStep#"):
            profile.steps.append(Step(name.removeprefix("ProfilerStep#"), start, end))
        elif type(args) is dict and (len(args) != 2 or "Sequence number" not in args):
            get = args.get
            texts = _text(get("Input Dims")), _text(get("Input type")), _text(get("Call stack"))
            profile.host.append(HostOp(name, start, end, thread, *texts, _flow(get("Jumar tensors"))))
        else:
            profile.host.append(HostOp(name, start, end, thread))
    profile.host.sort(key=lambda op: (op.start, -op.end))
    profile.steps.sort(key=lambda step: step.start)


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
    name, _, _, begin, length, core = raw
    start = (begin - origin) / 1000
    host, thread = sent.get(begin, (0, 0))
    when = (host - origin) / 1000 if host else -1.0
    if type(core) is not str:
        core = ""
    core = core or ("AI_CPU" if "AiCpu" in name else "")
    type_ = intern(name.rpartition("_")[2]) if name.startswith("aclnn") else name
    return Kernel(name, type_, intern(core), start, start + length / 1000, "", "", "", when, thread)
