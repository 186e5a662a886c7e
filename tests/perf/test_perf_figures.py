"""Launch statistics, queue depth, memory over time and MFU, on profiles small enough to count by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.perf import analyse
from jumar.perf.facts import gather
from jumar.perf.flops import use
from jumar.perf.launches import launches
from jumar.perf.profile import HostOp, Kernel, Profile
from jumar.perf.readers.folder import Source, load

Jumar = Callable[..., Any]


def sent(at: float, start: float, *, call: float = 0.0, length: float = 5.0, stream: int = 7) -> Kernel:
    return Kernel("k", "k", "", start, start + length, host=at, call=call, stream=stream)


def test_launches_and_queues() -> None:
    profile = Profile(0, "x")
    profile.kernels = [sent(0, 20, call=10), sent(10, 25, call=10), sent(20, 230, call=4), sent(5, 6, stream=9)]
    profile.kernels += [Kernel("unknown", "", "", 0, 1)]
    found = launches(profile)
    assert found is not None
    assert (found.sent, found.call, found.late, found.short) == (4, 8.0, 1, 2)
    assert found.delay == pytest.approx((10 + 5 + 206 + 1) / 4) and found.delay_median == 7.5
    assert found.queue_most == 2, "streams have queues of their own"
    assert found.queue == pytest.approx((20 + 15 + 210) / 230)
    assert launches(Profile(0, "x")) is None


def kineto(path: Path) -> Path:
    """Two products, one inside of `linear`, three states of the allocator, one of them the host's."""
    events: list[dict[str, Any]] = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "ts": 0, "dur": 40, "pid": 1, "tid": 1,
         "args": {"Input Dims": [[64, 128], [256, 128], [256]]}},
        {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "ts": 5, "dur": 30, "pid": 1, "tid": 1,
         "args": {"Input Dims": [[256], [64, 128], [128, 256], [], []]}},
        {"ph": "X", "cat": "cpu_op", "name": "aten::bmm", "ts": 50, "dur": 10, "pid": 1, "tid": 1,
         "args": {"Input Dims": [[4, 8, 16], [4, 16, 32]]}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 10, "dur": 6, "pid": 1, "tid": 1,
         "args": {"correlation": 3}},
        {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 30, "dur": 70, "pid": 0, "tid": 7,
         "args": {"correlation": 3}},
    ]  # fmt: skip
    for at, kind, held in ((0, 1, 1), (20, 1, 4), (60, 1, 2), (70, 0, 900)):
        args = {"Device Type": kind, "Total Allocated": held << 20, "Total Reserved": 8 << 20, "Bytes": 1}
        events.append({"ph": "i", "name": "[memory]", "ts": at, "pid": 1, "tid": 1, "s": "t", "args": args})
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    return path


def test_memory_and_operations_of_a_trace(tmp_path: Path) -> None:
    profile = load(Source(0, kineto(tmp_path / "one.pt.trace.json")))
    assert profile.memory is not None and (profile.memory.allocated, profile.memory.reserved) == (4.0, 8.0)
    assert profile.memory.over_time == ((0.0, 1.0, 8.0), (20.0, 4.0, 8.0), (60.0, 2.0, 8.0))
    found = use(gather(profile))
    assert found is not None
    assert found.operations == 2 * 64 * 128 * 256 + 2 * 4 * 8 * 16 * 32, "`linear` is not counted again"
    assert found.mfu is None, "a GPU's peak is not known"
    profile.chip = "Ascend910B3"
    known = use(gather(profile))
    assert known is not None and known.mfu == pytest.approx(known.rate / 294.912, rel=1e-3)


def test_figures_are_in_every_report(tmp_path: Path, jumar: Jumar) -> None:
    path = kineto(tmp_path / "one.pt.trace.json")
    said = jumar("perf", "read", path).out
    assert "launches                             1, call 6.0 us, then 14.0 us on average" in said
    assert "kernels in the queue                 1.0 on average, 1 at most" in said
    assert "matrix units used (MFU)" in said and "memory over time" in said
    (rank,) = json.loads(jumar("perf", "read", path, "--json").out)["ranks"]
    assert rank["launches"]["delay"] == 14.0 and len(rank["memory_over_time"]) == 3 and rank["use"]["mfu"] is None
    jumar("perf", "read", path, "--html", tmp_path / "page.html")
    assert "kernels in the queue: 1.0 on average" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_operators_without_shapes_have_no_figure() -> None:
    profile = Profile(0, "x", host=[HostOp("aten::mm", 0, 1, 1), HostOp("aten::mm", 2, 3, 1, "a,b;c")])
    profile.kernels = [sent(0, 1)]
    assert use(gather(profile)) is None
    assert analyse.rank_report(profile).launches is not None


def test_a_course_of_many_rows_stays_small_and_keeps_its_peak() -> None:
    from jumar.perf.readers.peaks import POINTS, peaks

    profile = Profile(0, "x")
    peaks([(at * 1000, 50.0 if at == 777 else 1.0, 60.0) for at in range(5000)], profile)
    assert profile.memory is not None and len(profile.memory.over_time) <= POINTS + 2
    assert (777.0, 50.0, 60.0) in profile.memory.over_time
    assert profile.memory.over_time[0][0] == 0.0 and profile.memory.over_time[-1][0] == 4999.0


def _operator(name: str, at: float, shapes: list[list[int]], **more: str) -> HostOp:
    return HostOp(f"aten::{name}", at, at + 1, 1, str(shapes), **more)


GIVEN, WEIGHT = [2, 3, 16, 16], [8, 3, 3, 3]
STRIDED = "['', '', '', '[2, 2]', '[1, 1]', '[1, 1]', 'False', '[0, 0]', '1']"
TURNED = "['', '', '', '[2, 2]', '[1, 1]', '[1, 1]', 'True', '[0, 0]', '1']"
ONE = 2 * 2 * 8 * 8 * 8 * 27
"""Of the convolution above with stride 2: a result of 2 x 8 x 8 x 8, each of 27 products."""


@pytest.mark.parametrize(
    ("host", "operations", "partial"),
    [
        ([_operator("convolution", 0, [GIVEN, WEIGHT, [8]], concrete=STRIDED)], ONE, False),
        ([_operator("convolution", 0, [GIVEN, WEIGHT]), _operator("relu", 2, [[2, 8, 8, 8]])], ONE, False),
        ([_operator("convolution", 0, [GIVEN, WEIGHT]),
          _operator("convolution_backward", 2, [[2, 8, 8, 8], GIVEN, WEIGHT])], 3 * ONE, False),
        ([_operator("convolution", 0, [[2, 8, 8, 8], WEIGHT], concrete=TURNED)], ONE, False),
        ([_operator("convolution", 0, [GIVEN, WEIGHT]), _operator("mm", 2, [[2, 4], [4, 8]])], 2 * 2 * 4 * 8, True),
        ([_operator("thnn_conv2d", 0, [GIVEN, WEIGHT]), _operator("mm", 2, [[2, 4], [4, 8]])], 2 * 2 * 4 * 8, True),
    ],
    ids=["strides", "next operator", "backward", "transposed", "unknown", "another name"],
)  # fmt: skip
def test_convolutions_count(host: list[HostOp], operations: float, partial: bool) -> None:
    found = use(gather(Profile(0, "x", host=host, kernels=[sent(0, 1)])))
    assert found is not None
    assert (found.operations, found.partial) == (operations, partial)


def test_nested_convolutions_count_once() -> None:
    inner = [
        _operator("convolution", 1, [GIVEN, WEIGHT], concrete=STRIDED),
        _operator("mkldnn_convolution", 1.2, [GIVEN, WEIGHT]),
    ]
    inner[1] = inner[1]._replace(end=1.5)
    host = [_operator("conv2d", 0, [GIVEN, WEIGHT])._replace(end=9.0), *inner]
    found = use(gather(Profile(0, "x", host=host, kernels=[sent(0, 1)])))
    assert found is not None and (found.operations, found.partial) == (ONE, False)
