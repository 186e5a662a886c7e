"""What a dry run is asked for, and the environment of one rank of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from jumar.core.errors import UserError
from jumar.emulate.dry.values import parse
from jumar.runtime import variables

STEPS = 3
"""Updates of a run that is not told how many: the first makes the optimizer's state, the second is the usual one."""


class DryRequest(NamedTuple):
    """The ranks to play, and what to assume."""

    world: int = 1
    ranks: tuple[int, ...] = (0,)
    steps: int = STEPS
    values: tuple[str, ...] = ()
    exact: int | None = None
    synthetic: bool = False
    """Data loaders read one sample and repeat it."""
    rank_option: str = ""
    """`--local_rank`: how the launcher tells a program its card."""


def checked(world: int | None, ranks: Sequence[int], started: int) -> tuple[int, tuple[int, ...]]:
    """The size of the job and the ranks to play; `started`: what the launcher was told."""
    size = world or started or 1
    chosen = tuple(dict.fromkeys(ranks)) or (0,)
    for rank in chosen:
        if not 0 <= rank < size:
            raise UserError(
                f"there is no rank {rank} of {size}", f"ranks are 0 to {size - 1}; `--world` is their number"
            )
    return size, chosen


def words(request: DryRequest, rank: int, cards: int) -> tuple[str, ...]:
    """What the launcher would add to the program's words."""
    return (f"{request.rank_option}={rank % min(cards, request.world)}",) if request.rank_option else ()


def environment(request: DryRequest, rank: int, cards: int, folder: Path) -> dict[str, str]:
    """The variables of one rank, as torchrun would set them."""
    parse(";".join(request.values))
    local = min(cards, request.world)
    values = {
        variables.DRY.name: str(folder),
        variables.DRY_STEPS.name: str(request.steps),
        variables.DRY_VALUES.name: ";".join(request.values),
        variables.DRY_WORLD.name: str(request.world),
        variables.MACHINE.name: f"dry-{folder.name}-{rank}",
        "TORCH_COMPILE_DISABLE": "1",
        "RANK": str(rank),
        "WORLD_SIZE": str(request.world),
        "LOCAL_RANK": str(rank % local),
        "LOCAL_WORLD_SIZE": str(local),
        "GROUP_RANK": str(rank // local),
        "NODE_RANK": str(rank // local),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29500",
    }
    if request.synthetic:
        values[variables.DRY_SYNTHETIC.name] = "1"
    if request.exact is not None:
        values[variables.DRY_EXACT.name] = str(request.exact)
    return values
