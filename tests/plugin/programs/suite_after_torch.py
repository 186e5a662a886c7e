"""Runs where torch was imported first."""

import torch
import torch_npu  # noqa: F401


def test_card() -> None:
    assert torch.ones(2, device="npu").sum().item() == 2
