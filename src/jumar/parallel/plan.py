"""A plan: how the cards are used."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

RECOMPUTE = ("none", "selective", "full")
SCHEDULES = ("1f1b", "gpipe", "interleaved")


class Plan(NamedTuple):
    """Data x tensor x context x pipeline cards; experts and the optimizer shard lie on the data-parallel ones."""

    dp: int
    tp: int
    pp: int
    micro_batches: int = 1
    shard: int = 0
    """Optimizer shard level: 0 none, 1 to 3 as in MindSpore's `hsdp`."""
    recompute: str = "none"
    schedule: str = "1f1b"
    chunks: int = 1
    """Pieces of a stage with the interleaved schedule."""
    sequence: bool = False
    ep: int = 1
    cp: int = 1
    """Context-parallel cards: each has a piece of every sequence, and all weights of its tensor-parallel part."""
    offload: bool = False
    """Does what a layer saves go to the host's memory until its backward pass?"""

    @property
    def cards(self) -> int:
        return self.dp * self.tp * self.pp * self.cp

    @property
    def flights(self) -> tuple[float, ...]:
        """Micro-batches whose activations each stage holds at once."""
        return _flights(self.pp, self.micro_batches, self.schedule, self.chunks)

    @property
    def name(self) -> str:
        sizes = (("dp", self.dp), ("tp", self.tp), ("cp", self.cp), ("pp", self.pp))
        words = [f"{key}{value}" for key, value in sizes if value > 1]
        words = words or ["one card"]
        if self.pp > 1 or self.micro_batches > 1:
            words.append(f"mb{self.micro_batches}")
        if self.schedule != "1f1b" and self.pp > 1:
            words.append(self.schedule)
        if self.shard:
            words.append("shard" if self.shard == 1 else f"shard{self.shard}")
        if self.ep > 1:
            words.append(f"ep{self.ep}")
        if self.sequence:
            words.append("sequence")
        if self.recompute != "none":
            words.append("recompute" if self.recompute == "full" else self.recompute)
        if self.offload:
            words.append("offload")
        return " ".join(words)


@cache
def _flights(pp: int, micro_batches: int, schedule: str, chunks: int) -> tuple[float, ...]:
    left = range(pp, 0, -1)
    if pp == 1:
        return (1,)
    if schedule == "gpipe":
        return (micro_batches,) * pp
    if schedule == "interleaved":  # MindSpore puts what is left of whole rounds into the first, on each stage
        ahead = (chunks - 1) * (pp + micro_batches % pp)
        return tuple(min((n - 1) * 2 + ahead + 1, micro_batches * chunks) / chunks for n in left)
    return tuple(min(micro_batches, n) for n in left)


@dataclass(frozen=True)
class Job:
    """What is trained: global batch in samples, optimizer, dtype of the gradients."""

    global_batch: int
    optimizer: str = "adam"

    def states(self, framework: str) -> int:
        """Tensors of optimizer state for each weight, of its dtype; MindSpore's SGD has two in any case."""
        if self.optimizer == "sgd":
            return 2 if framework == "mindspore" else 0
        return {"adam": 2, "adamw": 2, "momentum": 1}[self.optimizer]

    def waits(self, framework: str) -> bool:
        """Does the optimizer run when all gradients are there?

        MindSpore's Momentum and SGD were seen to begin when half of them are, and to follow the backward pass then.
        """
        return framework != "mindspore" or self.optimizer in ("adam", "adamw")
