"""Profile folders for the tests: runs made up of calls, and files as the vendor's profiler writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jumar.perf.profile import COPY, DATA
from jumar.perf.roofline import Tensor, card
from jumar.perf.simulate import Call, simulate
from jumar.perf.trace_events import Run
from jumar.perf.write import write

START = 1_704_161_511_420_306_491
X = Tensor((64, 128), "float32")


def op(name: str, read: int = 0, wrote: int = 0, line: int = 1, tensor: Tensor = X, kind: str = "kernel") -> Call:
    flow = ((read,), (wrote,)) if wrote else None
    return Call(kind, f"aten::{name}", 5.0, 10.0, (tensor,), (tensor,), flow, f"train.py({line}): step")


def chain(*names: str, line: int = 1) -> list[Call]:
    """Operators of which each reads what the one before wrote; views and copies keep the number, as in a record."""
    calls, number = [], 1
    for name in names:
        wrote = number if name in ("_to_copy", "slice") else number + 1
        calls.append(op(name, number, wrote, line))
        number = wrote
    return calls


def update(name: str = "AdamW", kernels: int = 40) -> list[Call]:
    label = f"Optimizer.step#{name}.step"
    return [
        Call("begin", label, 1.0, 0.0),
        *(op("addcmul_", line=9) for _ in range(kernels)),
        Call("end", label, 1.0, 0.0),
    ]


def batch(spent: float) -> Call:
    return Call("data", f"{DATA}#_SingleProcessDataLoaderIter.__next__", 1.0, spent, stack="train.py(3): main")


def item(line: int = 7) -> Call:
    one = Tensor((), "float32")
    return Call("sync", "aten::_local_scalar_dense", 1.0, 1.0, (one,), (), None, f"train.py({line}): step")


def to_host(line: int = 8) -> Call:
    return Call("sync", COPY, 1.0, 1.0, (X,), (), None, f"train.py({line}): step")


def folder(
    place: Path, calls: list[Call], rank: int = 0, soc: str = "Ascend910B3", ranks: int = 1, **more: Any
) -> Path:
    run = Run(place, rank, START + rank * 10**6, "CPU", **more)
    return write(run, simulate(calls, card(soc), ranks))


def vendor_events() -> list[dict[str, Any]]:
    """A trace as torch_npu writes it: text timestamps, names of processes at the end, Chinese in a call stack."""
    stack = "/家/训练.py(12): forward;\n/x/torch/nn/modules/linear.py(114): forward"
    host = {"pid": 10, "tid": 10, "cat": "cpu_op"}
    flow = {"bp": "e", "name": "torch_to_npu", "id": 1, "cat": "async_npu"}
    return [
        _span("aten::linear", 0.491, 60.0, {"Call stack": stack}, **host),
        _span("aten::addmm", 5.0, 40.0, {"a": [{"b": 1}, {"c": "}, {"}]}, **host),
        _span("aten::item", 70.0, 50.0, **host),
        _span("aten::item", 130.0, 2.0, **host),
        _span("AscendCL@aclrtSynchronizeStream", 75.0, 40.0, pid=20, tid=10),
        {"ph": "s", "pid": 10, "tid": 10, "ts": _stamp(5.0), **flow},
        {"ph": "f", "pid": 30, "tid": 2, "ts": _stamp(100.25), **flow},
        _span("aclnnAddmm_MatMulV2_MatMulV2", 100.25, 10.5, {"Task Type": "AI_CORE"}, pid=30, tid=2),
        _span("aclnnCast_CastAiCpu_Cast", 160.0, 40.0, pid=30, tid=2),
        *(
            {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
            for pid, name in ((10, "Python"), (20, "CANN"), (30, "Ascend Hardware"))
        ),
    ]


def _span(name: str, at: float, length: float, args: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "ts": _stamp(at), "dur": length, "args": args or {}, **more}


def _stamp(at: float) -> str:
    return f"{1704161511420306 + int(at)}.{round(at % 1 * 1000):03d}"


def vendor_folder(place: Path, events: list[dict[str, Any]] | None = None) -> Path:
    output = place / "host_1_20240102_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    text = json.dumps(vendor_events() if events is None else events, ensure_ascii=False)
    (output / "trace_view.json").write_text(text, encoding="utf-8")
    return output
