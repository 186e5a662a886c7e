"""A small model to record, and records of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

# These tests need no card: torch_npu would build the emulator's glue in the cache of each worker.
with mock.patch.dict(os.environ, {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}):
    import torch

import torch.nn.functional as F
from torch import nn

from jumar.compare import compare as compares
from jumar.compare.floor import FLOORS, SIZES
from jumar.compare.result import Comparison
from jumar.compare.session import Session


class Layer(nn.Module):
    approximate = "none"

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(F.gelu(self.up(self.norm(x)), approximate=self.approximate))


class Net(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.first, self.second, self.head = Layer(width), Layer(width), nn.Linear(width, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.second(self.first(x)))


def make(seed: int = 0) -> tuple[Net, torch.Tensor, torch.Tensor]:
    torch.manual_seed(seed)
    return Net(), torch.randn(6, 16), torch.randint(0, 5, (6,))


Change = Callable[[Net], Any]


def run(folder: Path, change: Change | None = None, steps: int = 2, factor: float = 1.0, **options: Any) -> Path:
    """Record a training of the model, changed or not."""
    net, x, y = make()
    x = x * factor
    if change is not None:
        change(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    with Session(folder, steps, **options):
        for _ in range(steps):
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
    return folder


def base(folder: Path) -> Path:
    """A reference with one noise run of each size."""
    run(folder)
    for number, size in enumerate(SIZES, 1):
        run(folder / f"{FLOORS}{number}", noise_unit=size, seed=0)
    return folder


def compare(first: Path, second: Path, **options: Any) -> Comparison:
    return compares.compare(first, second, **options)
