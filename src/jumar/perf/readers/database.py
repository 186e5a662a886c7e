"""The databases of the Ascend profiler (`export_type=Db`): the same rows as the text files, under other names.

Tables: msprof 8 and 9 with torch_npu 2.1 to 2.13 (`ascend_pytorch_profiler_<rank>.db`, `analysis.db`), MindSpore's twin
and `msprof_*.db`; times are nanoseconds since 1970, names are numbers into STRING_IDS. Columns were renamed and added:
they are found by name. Views are never asked: a file from elsewhere may define them as it likes.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from jumar.perf.profile import Block, Collective, Kernel, Profile, ProfiledStep, StepRow
from jumar.perf.readers import memory, peaks, tables
from jumar.perf.readers.base import Base, opened
from jumar.perf.readers.collect import MOST, Collector
from jumar.perf.readers.trace import FAR, Trace, sort, type_of

NAMES = ("ascend_pytorch_profiler*.db", "ascend_mindspore_profiler*.db", "msprof_*.db")
ANALYSIS = "analysis.db"
_OPERATOR, _FRAME = 50001, 50003
"""Kinds of PYTORCH_API rows, where ENUM_API_TYPE does not say."""
_LAYERS = {"acl": "AscendCL", "node": "Node", "model": "Model", "runtime": "Runtime", "hccl": "HCCL"}
"""How traces name the layers of CANN."""


def read(path: Path, profile: Profile) -> Trace:
    """Fill everything but the kernels into `profile`, and return those."""
    with opened(path, profile) as base:
        collected = _host(base)
        found = sort(collected, path, profile) if collected.host else Trace(0, [], [])
        comm = _collectives(base, found.origin)
        kernels = _kernels(base, found.origin, _sent(base))
        profile.steps = [
            ProfiledStep(str(name), (start - found.origin) / 1000, (end - found.origin) / 1000)
            for name, start, end in base.rows("STEP_TIME", "id", "startNs", "endNs")
            if _is_span(start, end) and found.origin
        ] or profile.steps
        _memory(base)
        profile.chip = profile.chip or next((str(row[0]) for row in base.rows("NPU_INFO", "name") if row[0]), "")
        _environment(base)
    return Trace(found.origin, kernels, comm)


def analysis(path: Path, profile: Profile) -> None:
    """analysis.db: the split of each step, and the collectives."""
    with opened(path, profile) as base:
        for name, *values in base.rows(
            "StepTraceTime", "step", "computing", "communication_not_overlapped", "overlapped", "free"
        ):
            with contextlib.suppress(ValueError, TypeError):
                profile.step_rows.append(StepRow(str(name), *(tables.positive(value) for value in values)))
        sizes: dict[str, float] = {}
        for name, kind, size in base.rows("CommAnalyzerBandwidth", "hccl_op_name", "transport_type", "transit_size"):
            if kind != "SDMA" and isinstance(size, (int, float)):
                sizes[str(name)] = max(sizes.get(str(name), 0.0), float(size))
        for name, *times in base.rows("CommAnalyzerTime", "hccl_op_name", "elapse_time", "transit_time", "wait_time"):
            with contextlib.suppress(ValueError, TypeError):
                if not str(name).startswith("Total"):
                    elapsed, transit, wait = (tables.positive(value) * 1000 for value in times)
                    profile.collectives.append(Collective(str(name), elapsed, transit, wait, sizes.get(str(name), 0.0)))


def _host(base: Base) -> Collector:
    """Operators and Python functions of the program, and calls into CANN."""
    found = Collector()
    kinds = {number: str(name) for number, name in base.rows("ENUM_API_TYPE", "id", "name")}
    stacks = _stacks(base)
    for start, end, thread, name, kind, types, shapes, chain in base.rows(
        "PYTORCH_API",
        "startNs", "endNs", "globalTid", "name", "type", "inputDtypes", "inputShapes", "callchainId",
    ):  # fmt: skip
        begin, length = _span(start, end)
        word = kinds.get(kind, "op" if kind in (None, _OPERATOR) else "trace" if kind == _FRAME else "")
        if begin < 0 or word not in ("op", "trace") or not (text := base.text(name)):
            continue
        row = (text, None, thread if type(thread) is int else 0, begin, length)
        if word == "op":
            args = {"Input Dims": base.text(shapes), "Input type": base.text(types), "Call stack": stacks.get(chain)}
            found.host.append((*row, args))
        elif ".py(" in text:
            found.frames.append((*row, None))
    found.processes[0] = "CANN"
    for start, end, kind, name in base.rows("CANN_API", "startNs", "endNs", "type", "name"):
        begin, length = _span(start, end)
        if begin >= 0:
            layer = kinds.get(kind, "")
            found.call(f"{_LAYERS.get(layer, layer)}@{base.text(name)}", 0, begin, length)
    return found


def _stacks(base: Base) -> dict[Any, str]:
    parts: dict[Any, list[tuple[int, str]]] = {}
    for number, name, depth in base.rows("PYTORCH_CALLCHAINS", "id", "stack", "stackDepth"):
        parts.setdefault(number, []).append((depth if type(depth) is int else 0, base.text(name)))
    return {number: ";\n".join(text for _, text in sorted(found)) for number, found in parts.items()}


def _sent(base: Base) -> dict[Any, tuple[int, int]]:
    """When and on which thread the host sent a task, by its connection: the innermost operator is the last to begin."""
    links: dict[Any, list[Any]] = {}
    for number, connection in base.rows("CONNECTION_IDS", "id", "connectionId"):
        links.setdefault(number, []).append(connection)
    found: dict[Any, tuple[int, int]] = {}
    for start, thread, number in base.rows("PYTORCH_API", "startNs", "globalTid", "connectionId"):
        begin, _ = _span(start, start)
        for connection in links.get(number, ()):
            if begin > found.get(connection, (0, 0))[0]:
                found[connection] = begin, thread if type(thread) is int else 0
    return found


def _kernels(base: Base, origin: int, sent: dict[Any, tuple[int, int]]) -> list[Kernel]:
    infos = {
        row[0]: row[1:]
        for row in base.rows(
            "COMPUTE_TASK_INFO",
            "globalTaskId",
            "name",
            "opType",
            "taskType",
            "inputShapes",
            "inputDataTypes",
            "opState",
        )
    }
    by_device: dict[Any, list[Kernel]] = {}
    for start, end, device, connection, number in base.rows(
        "TASK", "startNs", "endNs", "deviceId", "connectionId", "globalTaskId"
    ):
        begin, length = _span(start, end)
        if begin < 0 or (info := infos.get(number)) is None:
            continue
        name, type_, core, shapes, types, state = (tables.known(base.text(item)) for item in info)
        at = (begin - origin) / 1000
        host, thread = sent.get(connection, (0, 0))
        kernel = Kernel(
            name, type_ or type_of(name), core, at, at + length / 1000, shapes.strip('"'), types, state,
            (host - origin) / 1000 if host else -1.0, thread,
        )  # fmt: skip
        by_device.setdefault(device, []).append(kernel)
    if len(by_device) > 1:
        base.profile.notes.append(f"`{base.path.name}` has {len(by_device)} cards: the one with most kernels is shown")
    most = max(by_device.values(), key=len, default=[])
    return sorted(most, key=lambda item: item.start)


def _collectives(base: Base, origin: int) -> list[Kernel]:
    found = []
    for name, kind, start, end in base.rows("COMMUNICATION_OP", "opName", "opType", "startNs", "endNs"):
        begin, length = _span(start, end)
        if begin >= 0:
            at, text = (begin - origin) / 1000, base.text(name)
            type_ = tables.known(base.text(kind)) or type_of(text)
            found.append(Kernel(text, type_, "HCCL", at, at + length / 1000))
    return sorted(found, key=lambda item: item.start)


def _memory(base: Base) -> None:
    pairs = [
        (at if type(at) is int else 0, allocated / 2**20, reserved / 2**20)
        for component, at, allocated, reserved in base.rows(
            "MEMORY_RECORD", "component", "timestamp", "totalAllocated", "totalReserved"
        )
        if base.text(component) in memory.COMPONENTS and type(allocated) is int and type(reserved) is int
    ]
    peaks.peaks(pairs, base.profile)
    blocks = [
        Block(base.text(name), size / 2**20, start, end if type(end) is int else None, total / 2**20)
        for name, size, start, end, total in base.rows(
            "OP_MEMORY", "name", "size", "allocationTime", "releaseTime", "allocationTotalAllocated"
        )
        if type(size) is int and type(start) is int and type(total) is int
    ]
    memory.at_peak(blocks, base.profile)


def _environment(base: Base) -> None:
    for name, value in base.rows("META_DATA", "name", "value"):
        if name == "ENV_VARIABLES":
            tables.environment(value, base.profile)


def _is_span(start: Any, end: Any) -> bool:
    return _span(start, end)[0] >= 0


def _span(start: Any, end: Any) -> tuple[int, int]:
    """Begin and length in nanoseconds (some versions write text); -1 where there is no such time."""
    try:
        begin, last = int(start), int(end)
    except (TypeError, ValueError):
        return -1, 0
    return (begin, last - begin) if 0 <= begin <= last < MOST and last - begin <= FAR else (-1, 0)
