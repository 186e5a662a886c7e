"""Random bits of a card: one bit per element, from the seed and offset of its generator (dropout masks)."""

from __future__ import annotations

import torch
from torch import Tensor

_STEP = 12  # what op-plugin asks of the generator per mask (10), rounded up as the generator does


def next_seed() -> tuple[int, int]:
    """Seed and offset of the current card's default generator, which moves on."""
    generator = torch.npu.default_generators[torch.npu.current_device()]
    state = generator.get_state()
    words = state.view(torch.int64)
    seed, offset = int(words[0]), int(words[1])
    words[1] += _STEP
    generator.set_state(state)
    return seed, offset


def keep_bits(count: int, drop: float, seed: int, offset: int) -> Tensor:
    """One byte per element: 1 keeps it, which happens with probability 1 - drop."""
    generator = torch.Generator().manual_seed((seed * 0x9E3779B97F4A7C15 + offset) % 2**63)
    return (torch.rand(count, generator=generator) >= drop).to(torch.uint8)


def pack(bits: Tensor) -> Tensor:
    """Eight elements per byte, lowest bit first, padded to 128 elements: the format of dropout masks."""
    count = bits.numel()
    padded = torch.zeros((count + 127) // 128 * 128, dtype=torch.uint8)
    padded[:count] = bits.reshape(-1)
    weights = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=torch.uint8)
    return (padded.view(-1, 8) * weights).sum(1, dtype=torch.int64).to(torch.uint8)


def unpack(mask: Tensor, count: int) -> Tensor:
    weights = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=torch.uint8)
    return (mask.reshape(-1, 1) & weights).ne(0).reshape(-1)[:count].to(torch.uint8)
