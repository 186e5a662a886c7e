"""Writes a modelled run as a `*_ascend_pt` folder: the files, columns and names of torch_npu's profiler.

Formats: torch_npu 2.13 `profiler/analysis`; what msprof-analyze reads of them. Every folder says that its device times
are modelled: in profiler_metadata.json, in profiler_info_<rank>.json and in a README.txt.
"""

from __future__ import annotations

import csv
import json
import os
import socket
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from jumar import __version__
from jumar.core.compat import zip
from jumar.perf import spans
from jumar.perf.profile import DATA, Kernel
from jumar.perf.roofline import Tensor
from jumar.perf.simulate import Timeline
from jumar.perf.trace_events import Run, events, kernel_name, parts, stamp

_TYPES = {"float32": "FLOAT", "float16": "FLOAT16", "bfloat16": "DT_BF16", "float64": "DOUBLE", "int64": "INT64",
          "int32": "INT32", "int16": "INT16", "int8": "INT8", "uint8": "UINT8", "bool": "BOOL",
          "complex64": "COMPLEX64", "complex128": "COMPLEX128"}  # fmt: skip
_VARIABLES = ("ASCEND_", "HCCL_", "TASK_QUEUE_ENABLE", "CPU_AFFINITY_CONF", "PYTORCH_NPU_ALLOC_CONF", "ACLNN_",
              "HOST_CACHE_CAPACITY", "COMBINED_ENABLE")  # fmt: skip
_OURS = {"TASK_QUEUE_ENABLE": "0"}
"""What the emulator itself sets: not the program's choice."""
_KERNELS = ["Step Id", "Device_id", "Name", "Type", "Accelerator Core", "Start Time(us)", "Duration(us)",
            "Wait Time(us)", "Block Num", "Mix Block Num", "Input Shapes", "Input Data Types", "Input Formats",
            "Output Shapes", "Output Data Types", "Output Formats", "aicore_time(us)", "mac_time(us)",
            "aiv_vec_time(us)"]  # fmt: skip
_OPERATORS = ["Name", "Input Shapes", "Call Stack", "Host Self Duration(us)", "Host Total Duration(us)",
              "Device Self Duration(us)", "Device Total Duration(us)", "Device Self Duration With AICore(us)",
              "Device Total Duration With AICore(us)"]  # fmt: skip
_STEPS = ["Device_id", "Step", "Computing", "Communication(Not Overlapped)", "Overlapped", "Communication", "Free",
          "Stage", "Bubble", "Communication(Not Overlapped and Exclude Receive)", "Preparing"]  # fmt: skip
_MEMORY = ["Component", "Timestamp(us)", "Total Allocated(MB)", "Total Reserved(MB)", "Total Active(MB)", "Stream Ptr",
           "Device Type"]  # fmt: skip


def write(run: Run, line: Timeline) -> Path:
    """The folder, named as torch_npu names it; a half-written one has another name."""
    stamp = time.strftime("%Y%m%d%H%M%S", time.localtime(run.started / 1e9)) + f"{run.started // 10**6 % 1000:03d}"
    final = run.folder / f"{socket.gethostname()}_{os.getpid()}_{stamp}_ascend_pt"
    scratch = run.folder / f".{final.name}.jumar"
    output = scratch / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    _texts(scratch, run, line)
    _trace(output / "trace_view.json", run, line)
    _table(output / "kernel_details.csv", _KERNELS, _kernel_rows(run, line))
    _table(output / "operator_details.csv", _OPERATORS, _operator_rows(line))
    _table(output / "step_trace_time.csv", _STEPS, _step_rows(run, line))
    _table(output / "op_statistic.csv", _STATISTIC, _statistic_rows(run, line))
    if line.comm:
        document = json.dumps(_communication(run, line), indent=1)
        (output / "communication.json").write_text(document, encoding="utf-8")
    if run.memory is not None:
        _table(output / "memory_record.csv", _MEMORY, [_memory_row(run, line)])
    scratch.rename(final)
    return final


def _texts(folder: Path, run: Run, line: Timeline) -> None:
    said = line.card.text
    made = {"modelled": said, "chip": line.card.soc, "jit_compile": run.jit_compile, "version": __version__,
            "ran_on": run.device, "confidence": line.card.confidence, "notes": list(run.notes)}  # fmt: skip
    environment = {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith(_VARIABLES) and "PATH" not in name and _OURS.get(name) != value
    }
    info = {
        "config": {
            "common_config": {"activities": ["ProfilerActivity.CPU", "ProfilerActivity.NPU"], "record_shapes": True,
                              "with_stack": True},
            "experimental_config": {"_profiler_level": "Level1", "_export_type": ["text"]},
        },
        "rank_id": run.rank,
        "jumar": made,
    }  # fmt: skip
    _json(folder / f"profiler_info_{run.rank}.json", info)
    _json(folder / "profiler_metadata.json", {"ENV_VARIABLES": environment, "jumar": made})
    about = f"Written by jumar {__version__} without an NPU; the program ran on: {run.device}.\n{said}.\n"
    (folder / "README.txt").write_text(about, encoding="utf-8")


def _trace(path: Path, run: Run, line: Timeline) -> None:
    with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write("[")
        for index, event in enumerate(events(run, line)):
            file.write(",\n" if index else "\n")
            json.dump(event, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n]\n")


def _kernel_rows(run: Run, line: Timeline) -> Iterator[list[Any]]:
    last = 0.0
    rows: list[tuple[Kernel, tuple[Tensor, ...], tuple[Tensor, ...]]] = [
        (kernel, *tensors) for kernel, tensors in zip(line.kernels, line.outputs, strict=True)
    ]
    rows += [(kernel, (), ()) for kernel in line.comm]
    for kernel, inputs, outputs in sorted(rows, key=lambda row: row[0].start):
        vector = kernel.core == "AI_VECTOR_CORE"
        cube = kernel.core in ("AI_CORE", "MIX_AIC")
        length = f"{kernel.duration:.3f}"
        yield [
            _step_of(line, kernel.start), run.rank, kernel_name(kernel), kernel.type, kernel.core,
            stamp(run, kernel.start) + "\t", length, f"{max(0.0, kernel.start - last):.3f}", 20, 0,
            _shapes(inputs), _type_names(inputs), _formats(inputs),
            _shapes(outputs), _type_names(outputs), _formats(outputs),
            length if cube else 0, length if cube else 0, length if vector else 0,
        ]  # fmt: skip
        last = kernel.end


def _operator_rows(line: Timeline) -> Iterator[list[Any]]:
    device: dict[float, tuple[float, float]] = {}
    for kernel in [*line.kernels, *line.comm]:
        amount = kernel.duration
        device[kernel.host] = amount, amount if kernel.core in ("AI_CORE", "MIX_AIC", "AI_VECTOR_CORE") else 0.0
    for op in line.host:
        if op.name.startswith((DATA, "Optimizer.")):
            continue
        host = f"{op.end - op.start:.3f}"
        amount, cores = device.get(op.start, (0.0, 0.0))
        yield [
            op.name,
            op.shapes,
            op.stack,
            host,
            host,
            f"{amount:.3f}",
            f"{amount:.3f}",
            f"{cores:.3f}",
            f"{cores:.3f}",
        ]


def _step_rows(run: Run, line: Timeline) -> Iterator[list[Any]]:
    found = parts(line)
    every = spans.union([*found["Computing"], *found["Communication"]])
    end = every[-1][1] if every else 0.0
    bounds = [(step.name, step.start, step.end) for step in line.steps] or [("", 0.0, end)]
    for name, start, stop in bounds:
        amounts = {key: spans.total(spans.clip(value, (start, stop))) for key, value in found.items()}
        exposed, comm = amounts["Communication(Not Overlapped)"], amounts["Communication"]
        values = [amounts["Computing"], exposed, comm - exposed, comm, amounts["Free"], stop - start, 0.0, exposed, 0.0]
        yield [run.rank, name, *(f"{value:.3f}" for value in values)]


_STATISTIC = ["Device_id", "OP Type", "Core Type", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)",
              "Max Time(us)", "Ratio(%)"]  # fmt: skip


def _statistic_rows(run: Run, line: Timeline) -> Iterator[list[Any]]:
    groups: dict[tuple[str, str], list[float]] = {}
    for kernel in line.kernels:
        groups.setdefault((kernel.type, kernel.core), []).append(kernel.duration)
    whole = sum(map(sum, groups.values())) or 1.0
    for (type_, core), found in sorted(groups.items(), key=lambda item: -sum(item[1])):
        amount = sum(found)
        numbers = [amount, min(found), amount / len(found), max(found), 100 * amount / whole]
        yield [run.rank, type_, core, len(found), *(f"{value:.3f}" for value in numbers)]


def _communication(run: Run, line: Timeline) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for kernel, moved in zip(line.comm, line.moved, strict=True):
        size = moved / 1e6
        links = {"RDMA": _link(0.0, 0.0), "HCCS": _link(size, kernel.duration), "PCIE": _link(0.0, 0.0),
                 "SDMA": _link(size, kernel.duration)}  # fmt: skip
        times = {"Start Timestamp(us)": float(stamp(run, kernel.start)), "Elapse Time(ms)": kernel.duration / 1000,
                 "Transit Time(ms)": kernel.duration / 1000, "Wait Time(ms)": 0.0, "Synchronization Time(ms)": 0.0,
                 "Idle Time(ms)": 0.0, "Wait Time Ratio": 0.0, "Synchronization Time Ratio": 0.0}  # fmt: skip
        step = document.setdefault(f"step{_step_of(line, kernel.start)}", {"p2p": {}, "collective": {}})
        entry = {"Communication Time Info": times, "Communication Bandwidth Info": links}
        step["collective"][f"{kernel.name}@0"] = entry
    return document


def _link(size: float, spent: float) -> dict[str, Any]:
    speed = size / (spent / 1000) if spent else 0.0
    return {"Transit Size(MB)": size, "Transit Time(ms)": spent / 1000, "Bandwidth(GB/s)": round(speed, 4),
            "Large Packet Ratio": 0.0, "Size Distribution": {}}  # fmt: skip


def _memory_row(run: Run, line: Timeline) -> list[Any]:
    assert run.memory is not None
    end = max((op.end for op in line.host), default=0.0)
    allocated, reserved = run.memory
    return ["PTA", stamp(run, end), f"{allocated:.3f}", f"{reserved:.3f}", f"{allocated:.3f}", "", f"NPU:{run.rank}"]


def _step_of(line: Timeline, at: float) -> str:
    index = spans.containing(line.step_spans, at)
    return line.steps[index].name if index >= 0 else ""


def _shapes(tensors: Iterable[Tensor]) -> str:
    return '"' + ";".join(",".join(map(str, item.shape)) for item in tensors) + '"'


def _type_names(tensors: Iterable[Tensor]) -> str:
    return ";".join(_TYPES.get(item.type, item.type.upper()) for item in tensors) or "N/A"


def _formats(tensors: Iterable[Tensor]) -> str:
    return ";".join("ND" for _ in tensors) or "N/A"


def _table(path: Path, head: list[str], rows: Iterable[list[Any]]) -> None:
    with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(rows)


def _json(path: Path, document: dict[str, Any]) -> None:
    path.write_text(
        json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", errors="backslashreplace"
    )
