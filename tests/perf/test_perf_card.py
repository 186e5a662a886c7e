"""`jumar perf lint --cpu` speaks of the card, and of the same things on a busy machine."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jumar.perf.analyzers import exposed_communication
from jumar.perf.facts import gather
from jumar.perf.profile import HostOp, Kernel, Profile
from jumar.perf.record import clock
from jumar.perf.roofline import Card
from jumar.perf.simulate import Call, simulate, steady
from program_files import program_text


def lint(folder: bytes, soc: str) -> dict[str, Any]:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed: pip install 'jumar[emulator]'")
    os.makedirs(folder, exist_ok=True)
    with open(folder + b"/train.py", "w", encoding="utf-8") as file:
        file.write(program_text(__file__, "card_choices"))
    words = [sys.executable, "-m", "jumar", "perf", "lint", "--cpu", "--soc", soc, "--json", "--", "python"]
    done = subprocess.run([*words, folder + b"/train.py"], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_what_the_card_chooses(tmp_path: Path) -> None:
    """Also in a folder whose name is not UTF-8, which must not end the run."""
    new = lint(os.fsencode(tmp_path) + b"/\xff", "910b3")
    kernels = {row["type"]: row["calls"] for row in new["ranks"][0]["operators"]}
    names = {one["name"] for one in new["advice"]}
    assert kernels["FlashAttentionScore"] == 6 and kernels["FlashAttentionScoreGrad"] == 3
    assert not any("cpu-fallback" in name or "unfused-optimizer" in name for name in names), names
    assert any(name.startswith("Foreach") for name in kernels)
    assert not any(name.startswith("Record") for name in kernels)


def test_an_older_chip_chooses_otherwise(tmp_path: Path) -> None:
    old = lint(os.fsencode(tmp_path), "310p3")
    kernels = {row["type"] for row in old["ranks"][0]["operators"]}
    names = {one["name"] for one in old["advice"]}
    assert "FlashAttentionScore" not in kernels and "BatchMatMulV2" in kernels
    assert not any("cpu-fallback" in name for name in names)
    assert "unfused-optimizer: AdamW" in names, "foreach is not the default there"


def test_one_slow_pass_is_the_machines() -> None:
    calls = [Call("kernel", "aten::add", gap, 0.0, stack="train.py(3): f") for gap in (5.0, 900.0, 6.0)]
    assert [call.gap for call in steady(calls)] == [6.0, 6.0, 6.0]
    assert [call.gap for call in steady(calls[:2])] == [5.0, 900.0], "two passes do not show what is usual"
    assert len(simulate(steady(calls), Card("Ascend910B3")).kernels) == 3


def test_waiting_for_a_processor_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    now = {"wall": 0, "waited": 0, "worked": 0}
    monkeypatch.setattr(clock.time, "perf_counter_ns", lambda: now["wall"])
    monkeypatch.setattr(clock.time, "process_time_ns", lambda: now["worked"])
    monkeypatch.setattr(clock, "waited", lambda: now["waited"])
    watch = clock.Stopwatch()
    now.update(wall=9_000_000, waited=4_000_000, worked=3_000_000)
    assert watch.spent() == 5000.0, "a wait for a file counts, one for a processor does not"
    assert watch.worked() == 3000.0


def test_the_kernel_tells_how_long_a_thread_waited() -> None:
    if not Path("/proc/thread-self/schedstat").exists():
        pytest.skip("this kernel keeps no statistics of its scheduler")
    assert clock.waited() >= 0


@pytest.mark.parametrize(
    ("name", "said", "not_said"),
    [
        ("hcom_sendRecv__123", "micro-batches", "bucket_cap_mb"),
        ("hcom_batchSendRecv__1", "micro-batches", "bucket_cap_mb"),
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "micro-batches", "bucket_cap_mb"),
        ("hcom_alltoallv__7", "experts", "bucket_cap_mb"),
        ("ncclKernel_ReduceScatter_RING_LL_Sum_float", "backward_prefetch", "bucket_cap_mb"),
        ("hcom_broadcast__9", "once before the steps", "bucket_cap_mb"),
        ("hcom_allReduce__1", "bucket_cap_mb", "micro-batches"),
        ("HcclAllGather", "backward_prefetch", "bucket_cap_mb"),
        ("void ncclKernel_SendRecv_RING", "micro-batches", "bucket_cap_mb"),
        ("nccl:_reduce_scatter_base", "backward_prefetch", "bucket_cap_mb"),
        ("nccl:barrier", "leave `dist.barrier()` out", "bucket_cap_mb"),
        ("somethingNew", "async_op=True", "bucket_cap_mb"),
    ],
)
def test_advice_fits_the_collective(name: str, said: str, not_said: str) -> None:
    profile = Profile(0, "x", host=[HostOp("aten::add", 0, 1, 1)])
    profile.kernels = [Kernel("Add", "Add", "AI_VECTOR_CORE", 0, 50)]
    profile.comm = [Kernel(name, "", "HCCL", 50, 100), Kernel("hcom_allReduce__2", "", "HCCL", 0, 50)]
    (advice,) = exposed_communication.look(gather(profile))
    text = "\n".join(advice.change)
    assert said in text and not_said not in text, "the hidden all-reduce gets no advice"


def test_several_kinds_of_collectives_are_told_apart() -> None:
    profile = Profile(0, "x", host=[HostOp("aten::add", 0, 1, 1)])
    profile.kernels = [Kernel("Add", "Add", "AI_VECTOR_CORE", 0, 50)]
    profile.comm = [Kernel("hcom_send__1", "", "HCCL", 50, 70), Kernel("hcom_allReduce__2", "", "HCCL", 70, 100)]
    (advice,) = exposed_communication.look(gather(profile))
    assert "(gradients)" in advice.change[0] and "(pipeline)" in advice.change[-1]
