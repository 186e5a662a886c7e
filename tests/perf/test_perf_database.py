"""Databases of the vendor's profiler: the same reading as from its text files, whatever columns a version has."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from jumar.core.errors import UserError
from jumar.perf import analyse
from jumar.perf.facts import gather
from jumar.perf.places import place
from jumar.perf.readers import folder
from jumar.report import perf

BEGIN = 1_736_410_576_386_409_710
TEXTS = {
    1: "aclnnMm_MatMulV2_MatMulV2", 2: "MatMulV2", 3: "AI_CORE", 4: "16,32;32,64", 5: "FLOAT16;FLOAT16",
    6: "hcom_allReduce__210_0_1", 7: "aten::mm", 8: "aten::item", 9: "aclrtSynchronizeStream", 10: "PTA",
    11: "/家/训练.py(12): step", 12: "/x/site-packages/torch/nn/modules/linear.py(1): forward", 13: "Enqueue",
    14: "train.py(40): main", 15: "N/A", 16: "Conv2D1", 17: "aten::empty",
}  # fmt: skip
TABLES: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "STRING_IDS": ("id INTEGER PRIMARY KEY, value TEXT", list(TEXTS.items())),
    "ENUM_API_TYPE": ("id, name", [(20000, "acl"), (50001, "op"), (50002, "queue"), (50003, "trace")]),
    "TASK": (
        "startNs, endNs, deviceId, connectionId, globalTaskId, taskType",
        [
            (BEGIN + 100_000, BEGIN + 140_000, 0, 70, 1, 3),
            (BEGIN + 160_000, BEGIN + 170_000, 0, 71, 2, 15),
            (BEGIN + 100_000, BEGIN + 900_000, 0, 72, 3, 9),
        ],
    ),
    "COMPUTE_TASK_INFO": (
        "name, globalTaskId, taskType, opType, inputShapes, inputDataTypes",
        [(1, 1, 3, 2, 4, 5), (16, 2, 15, 15, 15, 15)],
    ),
    "COMMUNICATION_OP": ("opName, startNs, endNs, opId", [(6, BEGIN + 130_000, BEGIN + 150_000, 1)]),
    "PYTORCH_API": (
        "startNs TEXT, endNs TEXT, globalTid, connectionId, name, callchainId, type",
        [
            (str(BEGIN), str(BEGIN + 50_000), 9, 0, 7, 5, 50001),
            (str(BEGIN + 2_000), str(BEGIN + 3_000), 9, 1, 13, None, 50002),
            (str(BEGIN + 60_000), str(BEGIN + 180_000), 9, None, 8, None, 50001),
            (str(BEGIN + 55_000), str(BEGIN + 190_000), 9, None, 14, None, 50003),
        ],
    ),
    "CONNECTION_IDS": ("id, connectionId", [(0, 70)]),
    "PYTORCH_CALLCHAINS": ("id, stack, stackDepth", [(5, 11, 1), (5, 12, 0)]),
    "CANN_API": ("startNs, endNs, type, name", [(BEGIN + 61_000, BEGIN + 175_000, 20000, 9)]),
    "STEP_TIME": ("id, startNs, endNs", [(50, BEGIN, BEGIN + 200_000)]),
    "MEMORY_RECORD": (
        "component, timestamp, totalAllocated, totalReserved",
        [(10, 1, 1 << 30, 3 << 30), (3, 1, 9 << 30, 9 << 30)],
    ),
    "OP_MEMORY": ("name, size, allocationTime, releaseTime, allocationTotalAllocated",
                  [(17, 700 << 20, 5, None, 1 << 30), (7, 9 << 20, 1, 3, 9 << 20)]),
    "META_DATA": ("name, value", [("ENV_VARIABLES", '{"TASK_QUEUE_ENABLE": "0"}')]),
    "NPU_INFO": ("id, name", [(0, "Ascend910B")]),
}  # fmt: skip


def _write(path: Path, tables: dict[str, tuple[str, list[tuple[Any, ...]]]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as base:
        for name, (columns, rows) in tables.items():
            base.execute(f"CREATE TABLE {name} ({columns})")
            if rows:
                base.executemany(f"INSERT INTO {name} VALUES ({','.join('?' * len(rows[0]))})", rows)
    base.close()
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("db") / "h_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    _write(
        output / "analysis.db",
        {
            "StepTraceTime": (
                "step, computing, communication_not_overlapped, overlapped, communication, free",
                [("50", 50.0, 10.0, 10.0, 20.0, 140.0)],
            ),
            "CommAnalyzerTime": (
                "hccl_op_name, elapse_time, transit_time, wait_time",
                [("hcom_allReduce__210_0_1", 0.02, 0.01, 0.005)],
            ),
            "CommAnalyzerBandwidth": (
                "hccl_op_name, transport_type, transit_size",
                [("hcom_allReduce__210_0_1", "HCCS", 28.6), ("hcom_allReduce__210_0_1", "SDMA", 28.6)],
            ),
        },
    )
    return _write(output / "ascend_pytorch_profiler_3.db", TABLES)


def test_database_has_what_the_text_files_have(made: Path) -> None:
    source = folder.find(made.parent.parent.parent)[0]
    assert source.rank == 3
    profile = folder.load(source)
    assert [(item.name, item.type, item.core, item.shapes) for item in profile.kernels] == [
        ("aclnnMm_MatMulV2_MatMulV2", "MatMulV2", "AI_CORE", "16,32;32,64"),
        ("Conv2D1", "Conv2D", "", ""),
    ]
    assert [item.type for item in profile.comm] == ["hcom_allReduce"]
    facts = gather(profile)
    row = profile.step_rows[0]
    assert facts.split.computing == pytest.approx(row.computing)
    assert facts.split.communication == pytest.approx(row.exposed)
    assert facts.split.overlapped == pytest.approx(row.overlapped)
    assert [op.name for op in profile.host] == ["aten::mm", "aten::item"]
    assert [place(op.stack) for op in profile.host] == ["/家/训练.py:12", "train.py:40"]
    assert facts.sent == {0: [profile.kernels[0]]}
    assert profile.waits == [(61.0, 175.0)]
    assert profile.steps[0].name == "50"
    assert profile.memory == (1024, 3072, (("aten::empty", 700.0),), ())
    assert profile.environment == {"TASK_QUEUE_ENABLE": "0"}
    assert profile.collectives[0].size_mb == 28.6
    assert not profile.notes


def test_a_database_by_itself_and_a_rank_with_a_step_table_only(made: Path, tmp_path: Path) -> None:
    assert analyse.report(made).ranks[0].kernels == 3
    report = analyse.report(made.parent / "analysis.db")
    assert (report.ranks[0].split.computing, report.ranks[0].split.unknown) == (50, 140)
    assert "no list of kernels" in report.ranks[0].notes[0]


def test_several_cards_in_one_database_are_said(tmp_path: Path) -> None:
    columns, rows = TABLES["TASK"]
    other = (BEGIN, BEGIN + 5, 1, 99, 1, 3)
    path = _write(tmp_path / "msprof_1.db", {**TABLES, "TASK": (columns, [*rows, other])})
    report = analyse.report(path)
    assert report.ranks[0].kernels == 3 and "has 2 cards" in report.ranks[0].notes[-1]


def test_views_of_a_foreign_database_are_not_run(tmp_path: Path) -> None:
    path = tmp_path / "msprof_1.db"
    with sqlite3.connect(path) as base:
        base.execute(
            "CREATE VIEW TASK AS WITH RECURSIVE n(startNs) AS (SELECT 1 UNION ALL SELECT startNs FROM n) "
            "SELECT startNs, 1 AS endNs FROM n"
        )
    base.close()
    with pytest.raises(UserError, match="nothing to read"):
        analyse.report(path)


@pytest.mark.parametrize("seed", range(30))
def test_damaged_database(made: Path, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    data = bytearray(made.read_bytes())
    for _ in range(1 << dice.randrange(9)):
        data[dice.randrange(20 if seed % 2 else 4096, len(data))] ^= 1 << dice.randrange(8)
    path = tmp_path / "ascend_pytorch_profiler_0.db"
    path.write_bytes(data[: dice.randrange(len(data))] if seed % 3 == 0 else data)
    try:
        report = analyse.report(tmp_path, jobs=1)
    except UserError as error:
        assert error.message
    else:
        assert list(perf.lines(report, top=5))
