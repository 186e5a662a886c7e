"""Files of the vendor's profiler, old and new, and of torch's own."""

from __future__ import annotations

import json
from pathlib import Path

import profiles
import pytest

from jumar.core.errors import UserError
from jumar.perf import analyse
from jumar.perf.facts import gather
from jumar.perf.places import place
from jumar.perf.profile import Profile
from jumar.perf.readers import folder
from jumar.perf.readers.collect import nanoseconds
from jumar.report import perf as text

OLD = (
    "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Input Shapes,"
    "Input Data Types\n"
    '1,MatMul1,MatMulV2,AI_CORE,1699529622790614.8,607.98,0,48,"""16,32;32,64""",FLOAT16;FLOAT16\n'
    "1,hcom_broadcast__445_0,hcom_broadcast_,HCCL,1699529622793969.5,100.5,2746.77,0,N/A,N/A\n"
    "1,broken,Add,AI_VECTOR_CORE,N/A,1,0,1,,\n"
    "1,short\n"
)
NEW = (
    "Step Id,Device_id,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Num,"
    "Input Shapes,Input Data Types\n"
    '19,0,aclnnMatmul_MatMulV3,MatMulV3,dynamic,AI_CORE,"1736413971558972.912\t",185.504,1.087,16,"""8,4""",DT_BF16\n'
)


def _load(path: Path) -> Profile:
    return folder.load(folder.find(path)[0])


def test_trace_alone_links_kernels_to_operators(tmp_path: Path) -> None:
    profile = _load(profiles.vendor_folder(tmp_path).parent)
    facts = gather(profile)
    assert [kernel.type for kernel in profile.kernels] == ["MatMulV2", "Cast"]
    assert profile.kernels[0].start == pytest.approx(99.759)
    assert [profile.host[index].name for index in facts.sent] == ["aten::addmm"]
    assert facts.device[0] == pytest.approx(10.5)
    assert profile.kernels[1].core == "AI_CPU"
    assert place(profile.host[0].stack) == "/家/训练.py:12"


def test_timestamps_keep_their_nanoseconds() -> None:
    assert nanoseconds("1704161511420306.491") == 1704161511420306491
    assert nanoseconds("1736413971558972.912\t") == 1736413971558972912
    assert nanoseconds("17.5") == 17500
    assert nanoseconds(12) == 12000
    for wrong in (float("nan"), "9" * 400, 10**400, -(10**17)):
        with pytest.raises(ValueError):
            nanoseconds(wrong)


@pytest.mark.parametrize("text", [OLD, NEW])
def test_kernel_table_of_any_version(tmp_path: Path, text: str) -> None:
    (tmp_path / "kernel_details.csv").write_text(text)
    profile = _load(tmp_path)
    kernel = profile.kernels[0]
    assert kernel.type.startswith("MatMulV") and kernel.core == "AI_CORE" and kernel.start == 0
    if text is OLD:
        assert kernel.shapes == "16,32;32,64"
        assert [item.name for item in profile.comm] == ["hcom_broadcast__445_0"]
        assert any("too few" in note for note in profile.notes) and any(
            "without a time" in note for note in profile.notes
        )
    else:
        assert kernel.state == "dynamic"


def test_tables_saved_in_a_chinese_encoding(tmp_path: Path) -> None:
    (tmp_path / "kernel_details.csv").write_bytes(OLD.replace("MatMul1", "矩阵乘").encode("gb18030"))
    assert _load(tmp_path).kernels[0].name == "矩阵乘"


def test_trace_and_table_of_different_runs_are_not_mixed(tmp_path: Path) -> None:
    output = profiles.vendor_folder(tmp_path)
    (output / "kernel_details.csv").write_text(NEW)
    profile = _load(output)
    assert profile.host == []
    assert any("not from the same time" in note for note in profile.notes)


def test_files_beside_the_trace(tmp_path: Path) -> None:
    output = profiles.vendor_folder(tmp_path)
    (output / "memory_record.csv").write_text(
        "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB)\n"
        "PTA,1,100.5,4000,100\nPTA,2,2000,3000,1\nAPP,3,1,9999,1\nPTA,x,y,z,1\n"
    )
    (output / "step_trace_time.csv").write_text(
        "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free\n0,1,10,2,3,5,7\n"
    )
    info = {"Communication Time Info": {"Elapse Time(ms)": 2.0, "Transit Time(ms)": 0.5, "Wait Time(ms)": 1.0},
            "Communication Bandwidth Info": {kind: {"Transit Size(MB)": 3.0} for kind in ("HCCS", "SDMA")}}  # fmt: skip
    (output / "communication.json").write_text(
        json.dumps(
            {"step1": {"collective": {"hcom_allReduce__1@2": info, "broken": 1, "Total Op Info": info}, "p2p": {}}}
        )
    )
    (output.parent / "profiler_metadata.json").write_text(
        json.dumps({"ENV_VARIABLES": {"ASCEND_LAUNCH_BLOCKING": "1"}})
    )
    profile = _load(tmp_path)
    assert profile.memory == (2000, 4000, (), ((0.0, 100.5, 4000.0), (1.0, 2000.0, 3000.0)))
    assert profile.step_rows[0].free == 7
    assert [(row.name, row.elapsed, row.size_mb) for row in profile.collectives] == [("hcom_allReduce__1", 2000, 3.0)]
    assert profile.environment == {"ASCEND_LAUNCH_BLOCKING": "1"}
    names = [item.name for item in analyse.rank_report(profile).advice]
    assert "settings: ASCEND_LAUNCH_BLOCKING" in names
    assert "memory-fragmentation" in names


@pytest.mark.parametrize("place", ["", "cluster_step_trace_time.csv", ".."])
def test_table_of_a_cluster_has_a_row_for_each_rank(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "cluster_analysis_output"
    folder.mkdir()
    (folder / "cluster_step_trace_time.csv").write_text(
        "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage\n"
        ',rank,1,10,2,3,5,7,19\n,rank,0,20,4,6,10,14,38\n5,rank,0,20,4,6,10,14,38\n,stage,"(0, 1)",20,4,6,10,14,38\n'
    )
    report = analyse.report(folder / place)
    assert [(rank.rank, rank.split.computing, rank.split.communication) for rank in report.ranks] == [
        (0, 40, 8), (1, 10, 2)
    ]  # fmt: skip
    said = list(text.lines(report, top=5))
    assert sum("no list of kernels" in line for line in said) == 1
    assert any(line.startswith("note: every rank: ") for line in said)


def test_kineto_trace(tmp_path: Path) -> None:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 100.5, "dur": 20},
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 1, "tid": 1, "ts": 90, "dur": 200},
        {"ph": "X", "cat": "kernel", "name": "ampere_sgemm", "pid": 0, "tid": 7, "ts": 130.25, "dur": 30},
        {"ph": "X", "cat": "kernel", "name": "ncclKernel_AllReduce", "pid": 0, "tid": 8, "ts": 170, "dur": 10},
    ]
    (tmp_path / "worker.pt.trace.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    report = analyse.report(tmp_path)
    split = report.ranks[0].split
    assert (split.computing, split.communication) == (30, 10)
    assert split.host == pytest.approx(split.total - 40)
    assert report.ranks[0].steps == 1


def test_trace_without_a_card_says_so(tmp_path: Path) -> None:
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 100.5, "dur": 20}
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": [event]}))
    assert "no task of a card" in analyse.report(tmp_path / "t.json").ranks[0].notes[0]


def test_limit_of_the_recorder_is_said(tmp_path: Path) -> None:
    place = profiles.folder(tmp_path, profiles.chain("mm"), notes=("only the first 5 operators were recorded",))
    assert analyse.report(place).ranks[0].notes == ("only the first 5 operators were recorded",)


def test_idle_time_adds_up(tmp_path: Path) -> None:
    split = analyse.report(profiles.vendor_folder(tmp_path)).ranks[0].split
    assert split.total == pytest.approx(split.computing + split.communication + split.host + split.data + split.unknown)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        ((), "no profile in"),
        (("x_ascend_pt/PROF_1/device",), "was not analysed yet"),
    ],
)
def test_folders_without_text_files_say_what_to_do(tmp_path: Path, make: tuple[str, ...], message: str) -> None:
    for name in make:
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.mkdir() if "." not in name else path.write_text("")
    with pytest.raises(UserError, match=message) as error:
        folder.find(tmp_path)
    assert error.value.hint


def test_ranks_are_read_side_by_side_and_a_broken_one_is_said(tmp_path: Path) -> None:
    for rank in range(3):
        calls = profiles.chain("mm", "add") * (4 if rank == 2 else 2)
        profiles.folder(tmp_path, calls, rank)
    broken = next(tmp_path.glob("*_ascend_pt")) / "ASCEND_PROFILER_OUTPUT"
    for path in broken.iterdir():
        path.write_bytes(b"")
    report = analyse.report(tmp_path, jobs=2)
    assert len(report.ranks) == 2
    assert len(report.notes) == 1 and "not a trace" in report.notes[0]
