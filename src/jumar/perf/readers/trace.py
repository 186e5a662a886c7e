"""trace_view.json of torch_npu and the traces of Kineto: host operators, kernels, steps, calls into CANN.

Format: torch_npu 2.13 `profiler/analysis/prof_common_func/_trace_event_manager.py`. Its timestamps are strings in
microseconds since 1970 with three decimals, too long for a float: they become whole nanoseconds first.
"""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from jumar.perf import spans
from jumar.perf.profile import HostOp, Kernel, Profile, Step, is_communication
from jumar.perf.readers.events import Event, Events

FAR = 6 * 3600 * 10**9
"""Nanoseconds from the middle of a trace after which a time is not believed."""
_KERNEL_CATS = {"kernel", "gpu_memcpy", "gpu_memset"}
_HOST_CATS = {"cpu_op", "user_annotation"}
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


class _Raw(NamedTuple):
    name: str
    pid: Any
    thread: int
    start: int
    length: int
    core: str = ""


class Collector:
    """Takes events one by one; the roles of processes are known only at the end."""

    def __init__(self) -> None:
        self.host: list[tuple[_Raw, dict[str, Any]]] = []
        self.other: list[_Raw] = []
        self.gpu: list[tuple[_Raw, dict[str, Any]]] = []
        self.processes: dict[Any, str] = {}
        self.threads: dict[tuple[Any, Any], str] = {}
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
                    if event.get("name") == "torch_to_npu":
                        self.flow_start[event["id"]] = nanoseconds(event["ts"]), _number(event.get("tid"))
                elif kind == "f":
                    if event.get("name") == "torch_to_npu":
                        self.flow_end[event["id"]] = nanoseconds(event["ts"])
                elif kind == "M":
                    self._name(event)
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
                self.bad += 1

    def _span(self, event: Event) -> None:
        category = event.get("cat")
        if category in ("enqueue", "dequeue"):
            return
        name = event["name"]
        if type(name) is not str:
            raise ValueError
        length = event.get("dur", 0)
        raw = _Raw(
            sys.intern(name),
            event.get("pid"),
            _number(event.get("tid")),
            nanoseconds(event["ts"]),
            max(0, int(float(length) * 1000)),
        )
        if category is None:
            args = event.get("args")
            core = args.get("Task Type") if args else None
            self.other.append(raw._replace(core=sys.intern(core)) if type(core) is str else raw)
        elif category in _HOST_CATS:
            self.host.append((raw, event.get("args") or {}))
        elif category in _KERNEL_CATS:
            self.gpu.append((raw, event.get("args") or {}))

    def _name(self, event: Event) -> None:
        given = event["args"].get("name")
        if event["name"] == "process_name":
            self.processes[event.get("pid")] = str(given)
        elif event["name"] == "thread_name":
            self.threads[event.get("pid"), event.get("tid")] = str(given)


def read(path: Path, profile: Profile) -> Trace:
    """Fill host operators, steps and CANN calls into `profile`; return the kernels that the trace itself has."""
    events = Events(path)
    collected = Collector()
    collecting = gc.isenabled()
    gc.disable()  # looking for cycles among half a million values that have none takes as long as reading them
    try:
        for piece in events:
            collected.take(piece)
    finally:
        if collecting:
            gc.enable()
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


def _number(value: Any) -> int:
    if type(value) is int:
        return value
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return -1 - hash(str(value)) % 1_000_000


def _sort(found: Collector, path: Path, profile: Profile) -> Trace:
    device, lanes, cann = _roles(found)
    starts = [raw.start for raw, _ in found.host] + [raw.start for raw in found.other]
    starts += [raw.start for raw, _ in found.gpu]
    if not starts:
        profile.notes.append(f"`{path.name}` has no events with a duration")
        return Trace(0, [], [])
    middle = int(median(starts[:: max(1, len(starts) // 10_000)]))
    far = sum(abs(start - middle) > FAR for start in starts)
    if far:
        profile.notes.append(f"`{path.name}`: {far:,} events lie hours away from the others and were left out")
    origin = min(start for start in starts if abs(start - middle) <= FAR)

    def near(raw: _Raw) -> bool:
        return abs(raw.start - middle) <= FAR and raw.length <= FAR

    for raw, args in found.host:
        if near(raw):
            _host(raw, args, origin, profile)
    profile.host.sort(key=lambda op: (op.start, -op.end))
    profile.steps.sort(key=lambda step: step.start)
    sent = {end: found.flow_start[key] for key, end in found.flow_end.items() if key in found.flow_start}
    kernels: list[Kernel] = []
    comm: list[Kernel] = []
    waits: list[spans.Span] = []
    for raw in found.other:
        if not near(raw):
            continue
        if raw.pid in cann:
            count, total = profile.cann.get(raw.name, (0, 0.0))
            profile.cann[raw.name] = count + 1, total + raw.length / 1000
            if "Async" not in raw.name and any(part in raw.name for part in _WAITS):
                start = (raw.start - origin) / 1000
                waits.append((start, start + raw.length / 1000))
        elif raw.pid in device:
            kernels.append(_kernel(raw, origin, sent))
        elif raw.pid in lanes and is_communication(raw.name):
            comm.append(_kernel(raw, origin, sent))
    for raw, args in found.gpu:
        if near(raw):
            (comm if is_communication(raw.name) else kernels).append(_gpu_kernel(raw, args, origin))
    profile.waits = spans.union(waits)
    return Trace(origin, sorted(kernels, key=lambda item: item.start), sorted(comm, key=lambda item: item.start))


def _roles(found: Collector) -> tuple[set[Any], set[Any], set[Any]]:
    names = found.processes
    device = {pid for pid, name in names.items() if name == "Ascend Hardware"}
    lanes = {pid for pid, name in names.items() if name in _LANES}
    cann = {pid for pid, name in names.items() if name == "CANN"}
    return device, lanes, cann


def _host(raw: _Raw, args: dict[str, Any], origin: int, profile: Profile) -> None:
    start = (raw.start - origin) / 1000
    end = start + raw.length / 1000
    if raw.name.startswith("ProfilerStep#"):
        profile.steps.append(Step(raw.name.removeprefix("ProfilerStep#"), start, end))
        return
    profile.host.append(
        HostOp(
            raw.name,
            start,
            end,
            raw.thread,
            _text(args.get("Input Dims")),
            _text(args.get("Input type")),
            _text(args.get("Call stack")),
            _flow(args.get("Jumar tensors")),
        )
    )


def _text(value: Any) -> str:
    if not value:
        return ""
    return sys.intern(value if type(value) is str else str(value))[:_LONGEST]


def _flow(value: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    if type(value) is not list or len(value) != 2:
        return None
    read, written = value
    return tuple(read), tuple(written)


def _kernel(raw: _Raw, origin: int, sent: dict[int, tuple[int, int]]) -> Kernel:
    start = (raw.start - origin) / 1000
    host, thread = sent.get(raw.start, (0, 0))
    when = (host - origin) / 1000 if host else -1.0
    core = raw.core or ("AI_CPU" if "AiCpu" in raw.name else "")
    type_ = raw.name.rpartition("_")[2] if raw.name.startswith("aclnn") else raw.name
    return Kernel(raw.name, sys.intern(type_), core, start, start + raw.length / 1000, host=when, thread=thread)


def _gpu_kernel(raw: _Raw, args: dict[str, Any], origin: int) -> Kernel:
    start = (raw.start - origin) / 1000
    return Kernel(raw.name, raw.name, "", start, start + raw.length / 1000)
