"""`jumar run`: a program on NPUs, the real ones if there are any, otherwise emulated ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from jumar.core.compat import dataclass

if TYPE_CHECKING:
    from jumar.emulate.command import Command
    from jumar.emulate.command import RunRequest as MachineRequest
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


@dataclass(frozen=True, slots=True)
class Run:
    """A program that can be started."""

    command: Command
    machine: MachineRequest

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
    built = command.build(request.words, machine, os.environ)
    if request.profile is not None:
        from jumar.app import profiling

        built = profiling.recorded(built, request.profile)
    return Run(built, machine)


def prepare(run: Run) -> None:
    """Make what an emulated run needs, where a missing compiler or a full disk can still be told."""
    from jumar.emulate import command

    command.prepare(run.command, run.machine)


def start(run: Run, failed: Callable[[Explanation], None]) -> int:
    """Run it, with its own streams and signals; `failed` is told what a failure means, where that is known."""
    from jumar.app import watched
    from jumar.emulate import command
    from jumar.runtime import variables

    built = command.announced(run.command)
    if not variables.EXPLAIN.read():
        return command.execute(built)
    return watched.run(lambda: command.execute(built), failed)
