"""The table of environment variables holds together, and values are converted only where that is sure."""

from __future__ import annotations

import pytest

from jumar.core.finding import State
from jumar.tables.environment import convert, variable, variables
from jumar.tables.load import table


def test_rows_are_sorted_and_complete() -> None:
    raw = table("environment.toml")
    assert list(raw["variables"]) == sorted(raw["variables"])
    assert list(raw["prefixes"]) == sorted(raw["prefixes"])
    for name, row in raw["variables"].items():
        assert set(row) <= {"npu", "value", "state", "note", "source"}, name
        assert row["note"] and row["source"] in raw["sources"], name
        assert row.get("value", "same") in {"same", "devices", "allocator", "check"}, name
        assert ("state" in row) or ("npu" in row), f"{name} neither moves nor has a state"


def test_only_plain_takeovers_are_rewritten() -> None:
    for name, row in variables().items():
        assert row.is_renamed == (row.state is State.REWRITTEN), name
        assert not (row.is_renamed and row.value == "check"), name
        assert not row.npu or not row.npu.startswith(("CUDA_", "NCCL_", "NVIDIA_")), name


def test_longest_prefix_wins() -> None:
    infiniband, other = variable("NCCL_IB_NEW_THING"), variable("NCCL_NEW_THING")
    assert infiniband and other and "hccn_tool" in infiniband.note and infiniband.note != other.note


@pytest.mark.parametrize("name", ["CUDA", "cuda_home", "MY_CUDA_DEVICES", "NCCLX", "HCCL_ALGO", "PATH"])
def test_other_names_are_not_ours(name: str) -> None:
    assert variable(name) is None


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("CUDA_VISIBLE_DEVICES", "0", "0"),
        ("CUDA_VISIBLE_DEVICES", "3, 1,0", "0,1,3"),
        ("CUDA_VISIBLE_DEVICES", "2,10", "2,10"),
        ("CUDA_VISIBLE_DEVICES", "-1", "-1"),
        ("CUDA_VISIBLE_DEVICES", "", None),
        ("CUDA_VISIBLE_DEVICES", "0,0", None),
        ("CUDA_VISIBLE_DEVICES", "GPU-8932f937", None),
        ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True,max_split_size_mb:128", "same"),
        ("PYTORCH_CUDA_ALLOC_CONF", "roundup_power2_divisions:[256:1,>:8]", "same"),
        ("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync", None),
        ("NCCL_SOCKET_IFNAME", "^lo,docker", "same"),
        ("NCCL_BUFFSIZE", "4194304", None),
    ],
)
def test_values(name: str, value: str, expected: str | None) -> None:
    row = variable(name)
    assert row is not None
    assert convert(row, value) == (value if expected == "same" else expected)
