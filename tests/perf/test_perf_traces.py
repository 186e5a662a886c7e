"""Traces of other versions and tools: waits of a card, MindSpore's steps, old and new Kineto, ranks."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from jumar.core.errors import UserError
from jumar.perf import analyse
from jumar.perf.facts import gather
from jumar.perf.places import inside, place
from jumar.perf.profile import Profile
from jumar.perf.readers import folder
from jumar.perf.readers.trace import OF_A_GPU, type_of
from jumar.report import perf


def _span(name: str, at: float, length: float, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "ts": at, "dur": length, "pid": 1, "tid": 1, **more}


def _meta(kind: str, name: str, pid: int, tid: int = 0) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def _load(path: Path, events: list[dict[str, Any]], **more: Any) -> Profile:
    path.write_text(json.dumps({**more, "traceEvents": events} if more else events), encoding="utf-8")
    return folder.load(folder.find(path)[0])


def test_waits_and_copies_of_a_card_are_not_computing(tmp_path: Path) -> None:
    tasks = [
        ("aclnnMm_MatMulV2_MatMulV2", "AI_CORE", 10, 5), ("DSA", "DSA_SQE", 16, 1), ("wait", "EVENT_WAIT_SQE", 0, 90),
        ("Notify Wait", "Notify Wait", 0, 90), ("Write Value", "Write Value", 0, 90), ("x", "PCIE_DMA_SQE", 0, 90),
        ("Memcpy", "SDMA", 0, 90), ("Reduce", "REDUCE_ASYNC_V2", 0, 90), ("old", "Other", 20, 2),
    ]  # fmt: skip
    events = [_span(name, at, length, args={"Task Type": task}) for name, task, at, length in tasks]
    facts = gather(_load(tmp_path / "trace_view.json", [*events, _meta("process_name", "Ascend Hardware", 1)]))
    assert facts.split.computing == 8


def test_collectives_and_steps_of_mindspore(tmp_path: Path) -> None:
    events = [
        _meta("process_name", "Ascend Hardware", 1),
        _meta("process_name", "HCCL", 2),
        _meta("thread_name", "Communication Kernel", 2, 70000),
        _meta("thread_name", "Plane 0", 2, 0),
        _span("Iteration 4", 0, 100, cat="Iteration Time"),
        _span("Default/network/MatMul-op7", 1, 40, args={"Task Type": "AI_CORE"}),
        _span("Default/AllReduce-op534_0", 50, 30, pid=2, tid=70000),
        _span("Notify_Wait", 50, 30, pid=2, tid=0),
    ]
    profile = _load(tmp_path / "msprof_0.json", events)
    assert [(item.type, item.duration) for item in profile.comm] == [("AllReduce", 30)]
    assert [item.type for item in profile.kernels] == ["MatMul"]
    assert [step.name for step in profile.steps] == ["4"]


@pytest.mark.parametrize("names", [("cpu_op", "kernel", "cuda_runtime"), ("Operator", "Kernel", "Runtime")])
def test_kernels_of_a_gpu_belong_to_their_operators(tmp_path: Path, names: tuple[str, str, str]) -> None:
    host, card, runtime = names
    events = [
        _span("train.py(30): step", 0, 90, cat="python_function"),
        _span("torch/nn/functional.py(9): linear", 1, 50, cat="python_function"),
        _span("aten::mm", 2, 20, cat=host),
        _span("cudaLaunchKernel", 5, 3, cat=runtime, args={"correlation": 77}),
        _span("void gemm<float>(int)", 40, 10, cat=card, pid=0, tid=7, args={"correlation": 77}),
        _span("aten::item", 60, 20, cat=host),
    ]
    profile = _load(tmp_path / "worker.json", events, distributedInfo={"backend": "nccl", "rank": 5})
    facts = gather(profile)
    assert profile.rank == 5
    assert [profile.host[index].name for index in facts.sent] == ["aten::mm"]
    assert place(profile.host[0].stack) == "train.py:30"
    assert profile.notes == [OF_A_GPU]
    assert "host-synchronisation" not in str(analyse.rank_report(profile).advice), "no call waited inside of it"


def test_folder_of_packed_traces_under_any_name(tmp_path: Path) -> None:
    for rank in (7, 2):
        trace = {"traceEvents": [_span("gemm", 0, 10 + rank, cat="kernel")]}
        (tmp_path / f"rank-{rank}.json.gz").write_bytes(gzip.compress(json.dumps(trace).encode()))
    (tmp_path / "config.json").write_text('{"a": 1}')
    assert [(rank.rank, rank.split.computing) for rank in analyse.report(tmp_path, 1).ranks] == [(2, 12), (7, 17)]


def test_idle_card_without_advice_is_no_good_news(tmp_path: Path) -> None:
    events = [_span("gemm", at, 10, cat="kernel") for at in (0, 1000)]
    (tmp_path / "t.json").write_text(json.dumps(events))
    assert "idle 98% of the time" in list(perf.lines(analyse.report(tmp_path / "t.json"), top=5))[-1]


def test_timeline_of_another_tool_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        _load(tmp_path / "timeline.json", [_span("InitData", 0, 1)])
    assert "Ascend Hardware" in str(error.value.hint)


def test_profile_of_level_0_has_names_only(tmp_path: Path) -> None:
    (tmp_path / "kernel_details.csv").write_text(
        "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim\n"
        "50,trans_TransData_0,N/A,N/A,1736405443881410.320\t,50.621,0,0\n"
        "50,hcom_allReduce__210_0_1,N/A,N/A,1736405443881566.663\t,6.28,105.722,0\n"
    )
    profile = folder.load(folder.find(tmp_path)[0])
    assert [(item.type, item.core) for item in profile.kernels] == [("TransData", "")]
    assert [item.type for item in profile.comm] == ["hcom_allReduce"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Conv2D1", "Conv2D"), ("MaxPoolWithArgmaxV11", "MaxPoolWithArgmaxV1"), ("trans_TransData_12", "TransData"),
        ("aclnnMm_MatMulV2_MatMulV2", "MatMulV2"), ("Default/net/Relu-op12", "Relu"), ("some kernel", "some kernel"),
    ],
)  # fmt: skip
def test_type_of_a_kernel_from_its_name(name: str, expected: str) -> None:
    assert type_of(name) == expected


def test_line_of_the_program_and_of_the_library_it_called() -> None:
    stack = (
        "/v/lib/python3.11/site-packages/torch/nn/modules/module.py(9): call;\n"
        "/v/lib/python3.11/site-packages/transformers/models/llama/modeling_llama.py(64): forward;\ntrain.py(5): main"
    )
    assert place(stack) == "train.py:5"
    assert inside(stack) == ""
    assert inside(stack.partition(";\n")[2]) == "transformers/models/llama/modeling_llama.py:64"
