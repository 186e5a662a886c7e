"""`jumar run`: a program on NPUs, the real ones if there are any, otherwise emulated ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from jumar.core.compat import dataclass
from jumar.core.errors import UserError
from jumar.runtime import variables

if TYPE_CHECKING:
    from jumar.emulate.command import Command
    from jumar.emulate.command import RunRequest as MachineRequest
    from jumar.emulate.dry.request import DryRequest
    from jumar.emulate.dry.result import DryRun
    from jumar.machine.explain.result import Explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A program and the NPUs that it shall see."""

    words: tuple[str, ...]
    """As `python` takes them: a script, `-m MODULE`, `-c CODE`; or a program."""
    soc: str | None = None
    cards: int | None = None
    memory: str | None = None
    cuda: bool = False
    """Apply torch_npu's own run-time migration."""
    ops: Path | None = None
    """Record the operators that ran on the card here."""
    profile: Path | None = None
    """Write profiles with modelled device times into this folder."""
    numerics: str | None = None
    """`card` or `card:SEED`: compute as the chip does, as far as that is documented."""
    on: str | None = None
    """`cpu`: run MindSpore on its CPU target."""
    python: str | None = None
    """The interpreter that has MindSpore."""
    dry: bool = False
    """Shapes, memory and collectives only: no arithmetic, and none of the other ranks."""
    world: int | None = None
    ranks: tuple[int, ...] = ()
    steps: int | None = None
    values: tuple[str, ...] = ()
    """`train.py:42=0.5`: what a line gets that looks at a value which is not computed."""
    exact: int | None = None
    synthetic: bool = False
    """Data loaders read one sample and repeat it."""
    fit: str | None = None
    """`batch-size=1..64`: an option of the program to try."""


@dataclass(frozen=True, slots=True)
class Run:
    """A program that can be started."""

    command: Command
    machine: MachineRequest
    dry: DryRequest | None = None
    fit: str | None = None

    @property
    def where(self) -> str:
        """One line: on which NPUs it runs."""
        return self.command.where

    def shown(self) -> list[str]:
        """Shell lines that do the same."""
        from jumar.emulate import command

        return command.shown(self.command)


def build(request: RunRequest) -> Run:
    """What would be started."""
    from jumar.emulate import command

    names = ("soc", "cards", "memory", "cuda", "ops", "numerics", "on", "python")
    machine = command.RunRequest(**{name: getattr(request, name) for name in names})
    if request.dry:
        return _dry(request, machine)
    _only_dry(request)
    built = command.build(request.words, machine, os.environ)
    if request.profile is not None:
        from jumar.app import profiling

        built = profiling.recorded(built, request.profile)
    return Run(built, machine)


def _only_dry(request: RunRequest) -> None:
    for name in ("world", "ranks", "steps", "values", "exact", "synthetic", "fit"):
        if getattr(request, name) not in (None, (), False):
            raise UserError(f"`--{'value' if name == 'values' else name}` is for `--dry`", "`jumar run --dry …`")


def _dry(request: RunRequest, machine: MachineRequest) -> Run:
    from jumar.emulate import command
    from jumar.emulate.dry import launchers
    from jumar.emulate.dry import request as dry

    launched = launchers.read(request.words)
    world, ranks = dry.checked(request.world, request.ranks, launched.world)
    built = command.build(launched.words, machine, os.environ)
    if not variables.EMULATE.read(built.variables):
        raise UserError("`--dry` is for emulated NPUs, but this run uses real ones", "set `JUMAR_EMULATE=1`")
    steps = dry.STEPS if request.steps is None else request.steps
    asked = dry.DryRequest(world, ranks, steps, request.values, request.exact, request.synthetic,
                           launched.rank_option)  # fmt: skip
    return Run(built, machine, asked, request.fit)


def play(run: Run, tell: Callable[[str], None]) -> DryRun:
    """A dry run to its end; `tell` hears what is going on."""
    from jumar.app import dry
    from jumar.emulate import command

    assert run.dry is not None
    built = command.announced(run.command)
    if run.fit is None:
        return dry.run(built, run.dry, tell)
    found, result = dry.fit(built, run.dry, run.fit, tell)
    tell(
        f"jumar: --{found.option} {found.best} is the largest value that fits"
        if found.best is not None
        else f"jumar: no value of --{found.option} fits"
    )
    return result


def prepare(run: Run) -> None:
    """Make what an emulated run needs, where a missing compiler or a full disk can still be told."""
    from jumar.emulate import command

    command.prepare(run.command, run.machine)
    if run.dry is not None:
        from jumar.emulate.dry import build

        build.library()


def start(run: Run, failed: Callable[[Explanation], None]) -> int:
    """Run it, with its own streams and signals; `failed` is told what a failure means, where that is known."""
    from jumar.app import watched
    from jumar.emulate import command

    built = command.announced(run.command)
    if not variables.EXPLAIN.read():
        return command.execute(built)
    return watched.run(lambda: command.execute(built), failed)
