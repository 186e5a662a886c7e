"""`jumar run --dry`: ranks of a job, each in a process of its own, without arithmetic and without the other ranks."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jumar.app import dry_hints, dry_time
from jumar.core import read
from jumar.core.errors import UserError
from jumar.emulate.dry import request as dry
from jumar.emulate.dry.result import DryRun, RankRun
from jumar.runtime import process, variables

if TYPE_CHECKING:
    from jumar.emulate.command import Command

LIMITS = (
    "real: the program, torch, torch_npu, its caching allocator and its streams; every operator with its shapes",
    "modelled: times, from a roofline of the chip and rings over its links; HCCL's buffers, two of 200 MiB a group",
    "assumed: absent ranks hold what this one holds; values that are not computed are 0, positions are spread evenly",
    "missing: work space of the chip's kernels, what CANN and the driver keep for themselves (some GiB), torch.compile",
)
_FIT = re.compile(r"([\w.-]+)=(\d+)\.\.(\d+)")


class Fit(NamedTuple):
    """An option of the program, and the largest of its values that fits on the card."""

    option: str
    best: int | None
    tried: dict[int, bool]


def run(command: Command, asked: dry.DryRequest, tell: Callable[[str], None]) -> DryRun:
    """Play each rank in turn."""
    cards = variables.CARDS.read(command.variables)
    ranks = []
    with tempfile.TemporaryDirectory(prefix="jumar-dry-") as name:
        for rank in asked.ranks:
            if asked.world > 1:
                tell(f"jumar: dry run as rank {rank} of {asked.world}")
            environ = {**command.variables, **dry.environment(asked, rank, cards, Path(name))}
            argv = (*command.argv, *dry.words(asked, rank, cards))
            code = process.call(argv, env={**os.environ, **environ})
            ranks.append(_rank(Path(name) / f"rank-{rank}.json", code))
    return DryRun(" ".join(command.argv[1:]), asked.world, ranks, LIMITS)


def _rank(path: Path, code: int) -> RankRun:
    try:
        found: dict[str, Any] = read.decoded(read.content(path))
    except (UserError, ValueError) as error:
        raise UserError(
            f"the dry run has no result: the program ended with code {code} before it was written",
            "does it import torch, and does it run without `--dry`?",
        ) from error
    links = dry_time.links(found)
    return RankRun(
        found, dry_time.step_time(found, links), links, dry_hints.hints(found), dry_time.buffers(found), code
    )


def fit(command: Command, asked: dry.DryRequest, wish: str, tell: Callable[[str], None]) -> tuple[Fit, DryRun]:
    """The largest value of an option with which all ranks fit, by bisection, and the run with it."""
    match = _FIT.fullmatch(wish)
    if match is None or int(match[2]) > int(match[3]) or int(match[2]) < 1:
        raise UserError(f"`--fit {wish}` names no range", "write it as `--fit batch-size=1..64`")
    option, low, high = match[1], int(match[2]), int(match[3])
    tried: dict[int, DryRun] = {}

    def fits(value: int) -> bool:
        tried[value] = run(command._replace(argv=replaced(command.argv, option, value)), asked, tell)
        good = all(rank.fits and rank.code == 0 for rank in tried[value].ranks)
        tell(f"jumar: --{option} {value} {'fits' if good else 'does not fit'}")
        return good

    best = None
    if fits(low):
        best = low
        if high > low and fits(high):
            best, low = high, high
        while high - low > 1:
            middle = (low + high) // 2
            if fits(middle):
                best = low = middle
            else:
                high = middle
    good = {value: best is not None and value <= best for value in sorted(tried)}
    return Fit(option, best, good), tried[best if best is not None else int(match[2])]


def replaced(argv: tuple[str, ...], option: str, value: int) -> tuple[str, ...]:
    """The words of the program with another value of an option: the one that is there, or a new one at the end."""
    same = {"--" + option, "--" + option.replace("-", "_"), "--" + option.replace("_", "-")}
    words = list(argv)
    for at, word in enumerate(words):
        name, equals, _ = word.partition("=")
        if name in same and equals:
            words[at] = f"{name}={value}"
            return tuple(words)
        if word in same and at + 1 < len(words):
            words[at + 1] = str(value)
            return tuple(words)
    return (*words, f"--{option}", str(value))
