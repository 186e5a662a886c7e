"""What the examples share: a tiny language model's data, and how a loss is printed."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import torch

WORDS = 64
LENGTH = 16


def device() -> str:
    """`npu` where torch_npu is loaded; `--cpu` is for the run to compare with."""
    return "cpu" if "--cpu" in sys.argv or not hasattr(torch, "npu") else "npu"


def batches(count: int, size: int = 4, seed: int = 0) -> Iterator[torch.Tensor]:
    """Sequences that count upwards from a random word, so that there is something to learn."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(count):
        start = torch.randint(WORDS, (size, 1), generator=generator)
        yield (start + torch.arange(LENGTH)) % WORDS


def tell(step: int, loss: float | torch.Tensor, where: torch.device | None = None) -> None:
    """One line for each step, which tools/ecosystem.py reads: the loss, and the device it was computed on."""
    place = loss.device if isinstance(loss, torch.Tensor) else where
    print(f"step {step} loss {float(loss):.6f} on {place.type if place else 'unknown'}", flush=True)


class Lines(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """The same sequences as a dataset of a causal language model."""

    def __init__(self, count: int) -> None:
        self.rows = torch.cat(list(batches(count, 1)))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.rows[at], "labels": self.rows[at], "attention_mask": torch.ones(LENGTH).long()}
