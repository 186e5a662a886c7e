"""The fixtures of the pytest plugin; torch is imported when a test asks for one that needs it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

import pytest


class Memory:
    """The memory of the cards, as torch_npu's allocator hands it out; real cards have it too."""

    def __init__(self) -> None:
        self._limited: set[int] = set()

    def limit(self, size: str, card: int = 0) -> None:
        """Let the tests of this process have so much of a card, such as `2G`: beyond it is out of memory."""
        import torch

        from jumar.runtime import variables

        wanted = variables.mebibytes(variables.MEMORY.checked(size))
        total = torch.npu.get_device_properties(card).total_memory >> 20
        if wanted > total:
            raise ValueError(f"`{size}` is more than the {total} MiB of the card: `--npu-memory` sets those")
        torch.npu.empty_cache()
        torch.npu.set_per_process_memory_fraction(wanted / total, card)
        self._limited.add(card)

    def peak(self, card: int = 0) -> int:
        """The most bytes that were in use at once since the test began."""
        import torch

        return int(torch.npu.max_memory_allocated(card))

    def begin(self, cards: int) -> None:
        import torch

        for card in range(cards):
            torch.npu.reset_peak_memory_stats(card)

    def end(self) -> None:
        import torch

        for card in self._limited:
            torch.npu.set_per_process_memory_fraction(1.0, card)


class Rank(NamedTuple):
    """This process among those of a distributed test; its group exists."""

    rank: int
    world_size: int
    device: str


@pytest.fixture(scope="session")
def npu_cards(pytestconfig: pytest.Config) -> tuple[str, ...]:
    """The cards: `npu:0`, `npu:1` and so on; skips the test where there are none."""
    from jumar.pytest_plugin import NEEDED, machine_of, said

    machine = machine_of(pytestconfig)
    if machine is None:
        pytest.skip(said(NEEDED))
    return tuple(f"npu:{card}" for card in range(machine.cards))


@pytest.fixture
def npu_memory(npu_cards: tuple[str, ...]) -> Iterator[Memory]:
    """Limits the memory of a card for one test (`limit("2G")`) and tells its peak (`peak()`)."""
    memory = Memory()
    memory.begin(len(npu_cards))
    yield memory
    memory.end()


@pytest.fixture
def npu_rank(npu_cards: tuple[str, ...]) -> Iterator[Rank]:
    """For tests marked `npu_distributed(n)`: the card is chosen and the HCCL group made; both end with the test."""
    from jumar.pytest_plugin import said

    if "LOCAL_RANK" not in os.environ:
        pytest.fail(said("`npu_rank` is for tests marked `npu_distributed(n)`"), pytrace=False)
    import torch
    import torch.distributed as dist

    device = npu_cards[int(os.environ["LOCAL_RANK"])]
    torch.npu.set_device(device)
    dist.init_process_group("hccl")
    yield Rank(dist.get_rank(), dist.get_world_size(), device)
    dist.destroy_process_group()
