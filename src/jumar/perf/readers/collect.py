"""Takes the events of a trace one by one, as plain rows: what each process is only shows at the end.

Categories are those of Kineto, old (`Operator`, `Kernel`, torch 1.8 to 1.11) and new; torch_npu uses the new ones for
the host, and none for the card.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from sys import intern
from typing import Any

from jumar.perf.readers.events import Event

_WAITS = ("Synchronize", "aclrtMemcpy", "cudaMemcpy", "hipMemcpy")
"""Calls of CANN, CUDA and HIP that return when the card is done."""
_KINDS = {
    "cpu_op": "host",
    "user_annotation": "host",
    "Operator": "host",
    "kernel": "card",
    "gpu_memcpy": "card",
    "gpu_memset": "card",
    "Kernel": "card",
    "Memcpy": "card",
    "Memset": "card",
    "cuda_runtime": "runtime",
    "cuda_driver": "runtime",
    "hip_runtime": "runtime",
    "Runtime": "runtime",
    "python_function": "frame",
    "Iteration Time": "step",
}

_USUAL = 20
"""Characters of microseconds since 1970 with three decimals."""
MOST = 1 << 63
"""Nanoseconds: the year 2262, and more than a float can divide."""
Raw = tuple[str, Any, int, int, int, Any]
"""Name, process, thread, start and length in nanoseconds, arguments or kind of core: plain, as there are many."""


class Collector:
    """Rows by what they are."""

    def __init__(self) -> None:
        self.host: list[Raw] = []
        self.other: list[Raw] = []
        self.gpu: list[Raw] = []
        self.frames: list[Raw] = []
        """Python functions of the program."""
        self.iterations: list[Raw] = []
        """Steps of MindSpore."""
        self.calls: dict[tuple[Any, str], tuple[int, int]] = {}
        """Calls into CANN or CUDA by process and name: how many, how long."""
        self.waits: list[Raw] = []
        self.processes: dict[Any, str] = {}
        self.threads: dict[tuple[Any, Any], str] = {}
        self.flow_start: dict[Any, tuple[int, int]] = {}
        self.flow_end: dict[Any, int] = {}
        self.launches: dict[Any, tuple[int, int, int]] = {}
        """Of a GPU, by correlation: when and on which thread the host sent it, and how long the call took."""
        self.memory: list[tuple[int, float, float]] = []
        """Of a GPU: nanoseconds, bytes allocated and reserved."""
        self.bad = 0

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            try:
                kind = event["ph"]
                if kind == "X":
                    self._span(event)
                elif kind == "s":
                    if event["name"] == "torch_to_npu":
                        self.flow_start[event["id"]] = nanoseconds(event["ts"]), number(event.get("tid"))
                elif kind == "f":
                    if event["name"] == "torch_to_npu":
                        self.flow_end[event["id"]] = nanoseconds(event["ts"])
                elif kind == "M":
                    self._name(event)
                elif kind == "i" and event["name"] == "[memory]":
                    self._memory(event)
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
                self.bad += 1

    def call(self, name: str, process: Any, start: Any, length: int) -> None:
        """Such as `AscendCL@aclrtSynchronizeStream`: all that is kept is how often, how long, and when it waits.

        The start is in nanoseconds, or a timestamp of a trace as text.
        """
        key = process, name
        count, total = self.calls.get(key, (0, 0))
        self.calls[key] = count + 1, total + length
        if "Async" not in name and any(part in name for part in _WAITS):
            self.waits.append((name, process, 0, start if type(start) is int else nanoseconds(start), length, None))

    def _memory(self, event: Event) -> None:
        """A change of the allocator; device 0 of this list is the host."""
        args = event["args"]
        if args["Device Type"]:
            held = float(args["Total Allocated"]), float(args["Total Reserved"])
            if all(map(math.isfinite, held)):
                self.memory.append((nanoseconds(event["ts"]), *held))

    def _name(self, event: Event) -> None:
        if event["name"] == "process_name":
            self.processes[process_of(event)] = str(event["args"].get("name"))
        elif event["name"] == "thread_name":
            self.threads[process_of(event), event.get("tid")] = str(event["args"].get("name"))

    def _span(self, event: Event) -> None:
        category = event.get("cat")
        kind = _KINDS.get(category) if category is not None else "other"
        if kind is None:
            return
        name = intern(event["name"])
        spent = event.get("dur", 0)
        length = int((spent if type(spent) is float or type(spent) is int else float(spent)) * 1000)
        if length < 0:
            length = 0
        if kind == "other" and "@" in name:
            self.call(name, process_of(event), str(event["ts"]), length)
            return
        thread: Any = event.get("tid")
        if kind != "other" and type(thread) is not int:
            thread = number(thread)
        args = event.get("args")
        start = nanoseconds(event["ts"])
        if kind == "host":
            self.host.append((name, None, thread, start, length, args))
        elif kind == "other":
            core = args.get("Task Type") if args else None
            self.other.append((name, process_of(event), thread, start, length, core))
        else:
            self._rare(kind, (name, process_of(event), thread, start, length, None), args or {})

    def _rare(self, kind: str, row: Raw, args: dict[str, Any]) -> None:
        name, process, thread, start, length, _ = row
        if kind == "card":
            self.gpu.append((name, process, thread, start, length, args.get("correlation")))
        elif kind == "runtime":
            self.call(name, process, start, length)
            if (link := args.get("correlation")) is not None:
                self.launches[link] = start, thread, length
        elif kind == "frame":
            if ".py(" in name:
                self.frames.append(row)
        else:
            self.iterations.append(row)


def nanoseconds(value: Any) -> int:
    """A timestamp in microseconds, exactly where it is text; one that no clock shows is a ValueError."""
    if type(value) is str and value[-4:-3] == "." and len(value) <= _USUAL:
        return int(value[:-4]) * 1000 + int(value[-3:])
    found = _nanoseconds(value)
    if not -MOST < found < MOST:
        raise ValueError
    return found


def _nanoseconds(value: Any) -> int:
    if type(value) is str:
        whole, _, part = value.strip().partition(".")
        return int(whole) * 1000 + int((part + "000")[:3])
    if type(value) is int:
        return value * 1000
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    return round(number * 1000)


def process_of(event: Event) -> Any:
    pid = event.get("pid")
    return pid if type(pid) is int else str(pid)


def number(value: Any) -> int:
    if type(value) is int:
        return value
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return -1 - hash(str(value)) % 1_000_000
