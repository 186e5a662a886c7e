"""A suite with everything that the plugin offers."""

from __future__ import annotations

import os
import unittest

import pytest
import torch
import torch.distributed as dist


@pytest.fixture(autouse=True)
def only_in_ranks(request: pytest.FixtureRequest) -> None:
    """Fixtures of distributed tests belong to the ranks."""
    if request.node.get_closest_marker("npu_distributed"):
        assert "RANK" in os.environ


def test_uses_a_card(npu_cards: tuple[str, ...]) -> None:
    assert npu_cards == ("npu:0", "npu:1") and torch.npu.device_count() == 2
    assert torch.ones(3, device=npu_cards[1]).sum().item() == 3


def test_uses_no_card() -> None:
    assert torch.ones(3).sum().item() == 3


def test_falls_back() -> None:
    torch.linalg.eigvals(torch.eye(3, device="npu"))


@pytest.mark.npu_allow("aten::_linalg_eigvals")
def test_may_fall_back() -> None:
    torch.linalg.eigvals(torch.eye(3, device="npu"))


@pytest.mark.xfail(strict=True)
def test_falls_back_and_is_expected_to_fail() -> None:
    torch.linalg.eigvals(torch.eye(3, device="npu"))
    raise AssertionError


@pytest.mark.npu(cards=3)
def test_needs_three_cards() -> None:
    raise AssertionError


def test_memory_is_limited(npu_memory: object) -> None:
    npu_memory.limit("64M")  # type: ignore[attr-defined]
    with pytest.raises(torch.OutOfMemoryError):
        torch.ones(100 << 20, dtype=torch.uint8, device="npu")


def test_memory_is_whole_again(npu_memory: object) -> None:
    torch.ones(100 << 20, dtype=torch.uint8, device="npu")
    assert npu_memory.peak() >= 100 << 20  # type: ignore[attr-defined]


@pytest.mark.npu_distributed(2)
@pytest.mark.parametrize("size", [5])
def test_adds_up_over_ranks(npu_rank: object, size: int) -> None:
    total = torch.full((size,), npu_rank.rank + 1.0, device=npu_rank.device)  # type: ignore[attr-defined]
    dist.all_reduce(total)
    assert total.tolist() == [3.0] * size
    torch.linalg.eigvals(torch.eye(2, device="npu"))


@pytest.mark.npu_distributed(2)
def test_fails_in_one_rank() -> None:
    assert os.environ["RANK"] == "0", "of this rank"


class TestCase(unittest.TestCase):
    @pytest.mark.npu_distributed(2)
    def test_method(self) -> None:
        pass
