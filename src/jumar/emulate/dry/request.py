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
_FLAGS = {"--standalone", "-m", "--module", "--no-python", "--run-path", "--use-env", "--no_python", "--run_path"}
"""Options of torchrun that take no value."""


class DryRequest(NamedTuple):
    """The ranks to play, and what to assume."""

    world: int = 1
    ranks: tuple[int, ...] = (0,)
    steps: int = STEPS
    values: tuple[str, ...] = ()
    exact: int | None = None


class Torchrun(NamedTuple):
    """What torchrun would start."""

    world: int
    words: tuple[str, ...]


def checked(world: int | None, ranks: Sequence[int], started: int) -> tuple[int, tuple[int, ...]]:
    """The size of the job and the ranks to play; `started`: what torchrun was told."""
    size = world or started or 1
    chosen = tuple(dict.fromkeys(ranks)) or (0,)
    for rank in chosen:
        if not 0 <= rank < size:
            raise UserError(
                f"there is no rank {rank} of {size}", f"ranks are 0 to {size - 1}; `--world` is their number"
            )
    return size, chosen


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
    if request.exact is not None:
        values[variables.DRY_EXACT.name] = str(request.exact)
    return values


def without_torchrun(words: Sequence[str]) -> Torchrun:
    """A dry run is one process: torchrun's own words are read, and its program is started."""
    rest = list(words)
    if rest[:1] and Path(rest[0]).name == "torchrun":
        rest = rest[1:]
    elif rest[:2] in (["-m", "torch.distributed.run"], ["-m", "torch.distributed.launch"]):
        rest = rest[2:]
    else:
        return Torchrun(0, tuple(words))
    nodes, each, module, at = 1, 1, False, 0
    while at < len(rest) and rest[at].startswith("-"):
        name, equals, value = rest[at].partition("=")
        at += 1
        module |= name in ("-m", "--module")
        if name in _FLAGS:
            continue
        if not equals:
            value, at = rest[at] if at < len(rest) else "", at + 1
        plain = name.lstrip("-").replace("_", "-")
        if plain == "nnodes":
            nodes = _number(name, value.rpartition(":")[2])
        elif plain == "nproc-per-node":
            each = _number(name, value)
    program = rest[at:]
    if not program:
        raise UserError("torchrun has nothing to run", "name the script after its options")
    return Torchrun(nodes * each, ("-m", *program) if module else tuple(program))


def _number(name: str, text: str) -> int:
    if not text.isdecimal():
        raise UserError(f"`{name} {text}`: a dry run needs a number", "write it, or use `--world`")
    return int(text)
