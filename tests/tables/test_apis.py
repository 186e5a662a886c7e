"""The rows of `torch_cuda.toml`: complete, sorted, and only names that the wheel has."""

from __future__ import annotations

import pytest

from jumar.core.finding import State
from jumar.tables.apis import cuda_row, cuda_rows, exported, npu_names, version
from jumar.tables.load import table


def test_rows_are_sorted_and_each_says_something() -> None:
    names = list(cuda_rows())
    assert names == sorted(names)
    for row in cuda_rows().values():
        assert (row.npu is None) == (row.state is not State.REWRITTEN), row
        assert row.npu or row.note, row


@pytest.mark.parametrize("name", table("torch_npu.json")["torch.cuda.__all__"])
def test_every_public_name_of_torch_cuda_is_decided(name: str) -> None:
    row = cuda_row(f"torch.cuda.{name}")
    if row.npu is None:
        assert (row.note and "does not exist in torch_npu" not in row.note) or name == "nvtx"
    else:
        assert row.npu in npu_names() or not row.npu.startswith("torch.npu")


def test_no_row_writes_a_name_that_the_wheel_lacks() -> None:
    for row in cuda_rows().values():
        if row.npu and row.npu.startswith("torch.npu"):
            assert row.npu in npu_names(), row


@pytest.mark.parametrize(
    ("name", "new"),
    [
        ("torch.cuda", "torch.npu"),
        ("torch.cuda.memory.memory_allocated", "torch.npu.memory.memory_allocated"),
        ("torch.cuda.memory._snapshot", "torch.npu.memory._snapshot"),
        ("torch.cuda.amp.grad_scaler.GradScaler", "torch.npu.amp.grad_scaler.GradScaler"),
        ("torch.cuda.Stream.wait_stream", "torch.npu.Stream.wait_stream"),
        ("torch.cuda.CUDAGraph.replay", "torch.npu.NPUGraph.replay"),
        ("torch.cuda.__dict__", "torch.npu.__dict__"),
        ("torch.cuda.graphs.CUDAGraph", "torch.npu.graphs.NPUGraph"),
        ("torch.cuda.comm.broadcast", None),
        ("torch.cuda.nccl.version", None),
        ("torch.cuda.memory.list_gpu_processes", None),
        ("torch.cuda.memory.nothing", None),
        ("torch.cuda.nothing", None),
        ("torch.other", None),
    ],
)
def test_names_below_the_rows(name: str, new: str | None) -> None:
    assert cuda_row(name).npu == new


def test_a_row_for_a_module_holds_below_it() -> None:
    assert cuda_row("torch.cuda.nccl.version").note == cuda_row("torch.cuda.nccl").note


def test_what_the_run_time_import_copies() -> None:
    assert "synchronize" in exported("torch.npu") and "autocast" in exported("torch.npu.amp")
    assert exported("torch.npu.nothing") == frozenset()


def test_versions_compare_as_numbers() -> None:
    assert version("2.10.0") > version("2.9") and version("2.7.1+cpu") == (2, 7, 1)
