"""Truncated and bit-flipped profiles: an answer or a message, never a traceback, a hang or a flood of memory."""

from __future__ import annotations

import json
import random
import tracemalloc
from pathlib import Path

import profiles
import pytest

from jumar.core.errors import UserError
from jumar.perf import analyse, fix_trace
from jumar.perf.result import Report
from jumar.report import perf

CALLS = [*profiles.chain("pow", "mean", "add", "rsqrt", "mul", "mul"), profiles.item(), *profiles.update(kernels=25)]
FILES = ["trace_view.json", "kernel_details.csv", "operator_details.csv", "step_trace_time.csv", "memory_record.csv"]
MOST = 64 << 20
"""Bytes that Python may hold while reading a profile of 100 KB."""


def _damage(data: bytes, seed: int) -> bytes:
    dice = random.Random(seed)
    if seed % 3 == 0:
        return data[: dice.randrange(len(data) + 1)]
    changed = bytearray(data)
    for _ in range(1 << dice.randrange(10)):
        at = dice.randrange(len(changed))
        changed[at] ^= 1 << dice.randrange(8)
    return bytes(changed[: dice.randrange(len(changed))] if seed % 5 == 0 else changed)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return profiles.folder(tmp_path_factory.mktemp("whole"), CALLS * 2, memory=(10.0, 20.0))


def _answer(folder: Path) -> Report | None:
    tracemalloc.start()
    try:
        report = analyse.report(folder, jobs=1)
    except UserError as error:
        assert error.message
        return None
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < MOST
    assert list(perf.lines(report, top=5))
    json.dumps(perf.document(report), allow_nan=False)
    assert "</html>" in perf.page(report).html()
    return report


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("seed", range(12))
def test_one_damaged_file(whole: Path, tmp_path: Path, name: str, seed: int) -> None:
    output = tmp_path / "x_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    for path in (whole / "ASCEND_PROFILER_OUTPUT").iterdir():
        data = path.read_bytes()
        (output / path.name).write_bytes(_damage(data, seed) if path.name == name else data)
    for path in whole.glob("*.json"):
        data = path.read_bytes()
        (output.parent / path.name).write_bytes(_damage(data, seed) if seed % 4 == 0 else data)
    report = _answer(tmp_path)
    assert report is not None or name in ("trace_view.json", "kernel_details.csv")


@pytest.mark.parametrize("seed", range(24))
def test_damaged_trace_alone(whole: Path, tmp_path: Path, seed: int) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(_damage((whole / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_bytes(), seed))
    _answer(path)
    try:
        fix_trace.fix(path, tmp_path / "fixed.json")
    except UserError:
        assert not (tmp_path / "fixed.json").exists()
    else:
        fixed = json.loads((tmp_path / "fixed.json").read_text(encoding="utf-8"))
        assert all("ts" in event or event["ph"] == "M" for event in fixed["traceEvents"])
    assert not list(tmp_path.glob(".*.jumar"))
