"""The events of trace_view.json: the program, calls into CANN, kernels, collectives, and what overlaps."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jumar.perf import spans
from jumar.perf.profile import HostOp, Kernel
from jumar.perf.simulate import Timeline

CANN, CARD, OVERLAP, LINKS = 2, 3, 4, 5
"""Numbers of the processes in the trace beside the program itself."""


class Run(NamedTuple):
    folder: Path
    rank: int
    started: int
    """Nanoseconds since 1970."""
    device: str
    jit_compile: bool | None = None
    notes: tuple[str, ...] = ()
    memory: tuple[float, float] | None = None


def events(run: Run, line: Timeline) -> Iterator[dict[str, Any]]:
    pid = os.getpid()
    names = {pid: ("Python", "CPU"), pid * 100 + CANN: ("CANN", "CPU"), pid * 100 + CARD: ("Ascend Hardware", "NPU"),
             pid * 100 + OVERLAP: ("Overlap Analysis", "NPU")}  # fmt: skip
    if line.comm:
        names[pid * 100 + LINKS] = "Communication", "NPU"
    for index, (number, (name, label)) in enumerate(names.items()):
        yield _meta("process_name", number, 0, name=name)
        yield _meta("process_labels", number, 0, labels=label)
        yield _meta("process_sort_index", number, 0, sort_index=index)
    yield _meta("thread_name", pid, pid, name=f"Thread {pid}")
    yield _meta("thread_name", pid * 100 + CARD, 2, name="Stream 2")
    for step in line.steps:
        yield _span(run, f"ProfilerStep#{step.name}", pid, pid, step.start, step.end, cat="cpu_op")
    for op in line.host:
        yield _span(run, op.name, pid, pid, op.start, op.end, cat="cpu_op", args=_arguments(op))
    yield from _cann_events(run, line, pid)
    yield from _card_events(run, line, pid)
    yield from _link_events(run, line, pid)
    yield from _overlap_events(run, line, pid * 100 + OVERLAP)


def _cann_events(run: Run, line: Timeline, pid: int) -> Iterator[dict[str, Any]]:
    cann = pid * 100 + CANN
    for kernel in line.kernels:
        yield _span(run, "Node@launch", cann, pid, kernel.host, kernel.host + 1.0)
    for start, end in line.waits:
        yield _span(run, "AscendCL@aclrtSynchronizeStream", cann, pid, start, end)


def _card_events(run: Run, line: Timeline, pid: int) -> Iterator[dict[str, Any]]:
    card = pid * 100 + CARD
    for number, kernel in enumerate(line.kernels):
        args = {"Model Id": 4294967295, "Task Type": kernel.core, "Stream Id": 2, "Task Id": number,
                "connection_id": number}  # fmt: skip
        yield _span(run, kernel_name(kernel), card, 2, kernel.start, kernel.end, args=args)
        yield from _flow(run, number, (pid, pid, kernel.host), (card, 2, kernel.start))


def _link_events(run: Run, line: Timeline, pid: int) -> Iterator[dict[str, Any]]:
    links = pid * 100 + LINKS
    if line.comm:
        yield _meta("thread_name", links, 0, name="Group 0 Communication")
        yield _meta("thread_sort_index", links, 0, sort_index=0)
    for number, kernel in enumerate(line.comm):
        yield _span(run, kernel.name, links, 0, kernel.start, kernel.end, args={"connection_id": 10**6 + number})
        yield from _flow(run, 10**6 + number, (pid, pid, kernel.host), (links, 0, kernel.start))


def _overlap_events(run: Run, line: Timeline, pid: int) -> Iterator[dict[str, Any]]:
    for thread, (name, stretches) in enumerate(parts(line).items()):
        yield _meta("thread_name", pid, thread, name=name)
        for start, end in stretches:
            yield _span(run, name, pid, thread, start, end)


def parts(line: Timeline) -> dict[str, list[spans.Span]]:
    compute = spans.union((item.start, item.end) for item in line.kernels)
    comm = spans.union((item.start, item.end) for item in line.comm)
    every = spans.union([*compute, *comm])
    window = (every[0][0], every[-1][1]) if every else (0.0, 0.0)
    exposed = [part for start, end in comm for part in spans.gaps(compute, (start, end))]
    return {
        "Computing": compute,
        "Communication": comm,
        "Communication(Not Overlapped)": exposed,
        "Free": spans.gaps(every, window),
    }


def _arguments(op: HostOp) -> dict[str, Any]:
    args: dict[str, Any] = {"Sequence number": -1, "Fwd thread id": 0}
    if op.shapes:
        args["Input Dims"], args["Input type"] = op.shapes, op.types
    if op.stack:
        args["Call stack"] = op.stack
    if op.flow is not None:
        args["Jumar tensors"] = [list(op.flow[0]), list(op.flow[1])]
    return args


def kernel_name(kernel: Kernel) -> str:
    if kernel.core == "HCCL":
        return kernel.name
    plain = "".join(part[:1].upper() + part[1:] for part in kernel.name.partition("::")[2].strip("_").split("_"))
    return f"aclnn{plain}_{kernel.type}_{kernel.type}"


def _span(run: Run, name: str, pid: int, tid: int, start: float, end: float, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": stamp(run, start),
            "dur": round(max(0.0, end - start), 3), **({"args": {}} | more)}  # fmt: skip


def _flow(
    run: Run, number: int, start: tuple[int, int, float], end: tuple[int, int, float]
) -> Iterator[dict[str, Any]]:
    for kind, (pid, tid, at) in (("s", start), ("f", end)):
        yield {"ph": kind, "bp": "e", "name": "torch_to_npu", "id": number, "pid": pid, "tid": tid,
               "ts": stamp(run, at), "cat": "async_npu"}  # fmt: skip


def _meta(name: str, pid: int, tid: int, /, **args: Any) -> dict[str, Any]:
    return {"ph": "M", "name": name, "pid": pid, "tid": tid, "args": args}


def stamp(run: Run, at: float) -> str:
    whole = run.started + round(at * 1000)
    return f"{whole // 1000}.{whole % 1000:03d}"
