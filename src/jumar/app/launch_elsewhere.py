"""`jumar launch` on another engine: ssh, Slurm, Volcano, msrun."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumar.app.launch import LaunchRequest, settings
from jumar.core.compat import dataclass
from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.launch.job import Job
    from jumar.launch.submission import Submission

Line = Callable[[str, str, bool], None]
"""Called with a machine, a line of it, and whether that is talk rather than output."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A job and what its engine would get."""

    name: str
    """Name of the engine."""
    engine: Any
    plan: Submission
    wanted: Job

    def shown(self) -> list[str]:
        from jumar.launch import submission

        return submission.shown(self.plan)


def ask(asked: Mapping[str, str | None], engine: str, told: tuple[str, ...]) -> list[str]:
    """State or log of a job on a cluster, or the end of it."""
    from jumar.launch import backends

    found = backends.engine(engine or "slurm")
    if not hasattr(found, "ask"):
        raise UserError(f"`--on {engine}` keeps no jobs", "`slurm` and `volcano` do")
    more = settings(told)
    return [found.ask(word, which, more) for word, which in asked.items() if which]


def build(wanted: Job, request: LaunchRequest) -> Elsewhere:
    """What the engine would get, checked."""
    from jumar.launch import backends, program

    name = request.engine or "ssh"
    engine = backends.engine(name)
    if not wanted.cards:
        raise UserError("`--cards N` must give the number of cards per machine", "`--cards 8`")
    if not wanted.words:
        raise UserError("nothing to run", f"`jumar launch --on {name} --cards 8 train.py ARGS`")
    if name in ("ssh", "msrun") and not wanted.nodes and wanted.count > 1:
        raise UserError(f"`--nodes {wanted.count}`: which machines", "write it as `--nodes host1,host2`")
    if wanted.nodes and name not in ("ssh", "msrun"):
        raise UserError(f"`--nodes` with `--on {name}` takes a number of machines", "write it as `--nodes 2`")
    if request.check and name != "msrun":
        program.check(wanted.words, Path(), wanted.cards * wanted.count)
    plan = engine.build(wanted, os.environ) if name == "ssh" else engine.build(wanted)
    if not request.dry and name in ("slurm", "msrun") and not Path(wanted.words[0]).exists():
        raise UserError(f"no such script: `{wanted.words[0]}`", "check the path; `--print` shows what would be started")
    return Elsewhere(name, engine, plan, wanted)


def submit(job: Elsewhere) -> str:
    """Hand it to a cluster; its number there."""
    return str(job.engine.submit(job.plan, job.wanted))


def over_ssh(job: Elsewhere, line: Line) -> int:
    """Run it on other machines; the exit code is that of the first machine that failed."""
    job.engine.check(job.plan, job.wanted)
    code: int = job.engine.run(job.plan, job.wanted, line)
    return code


def become_msrun(job: Elsewhere) -> int:
    """Turn this process into msrun."""
    import shutil

    from jumar.emulate import command as commands
    from jumar.launch import ports

    plan, wanted = job.plan, job.wanted
    if len(plan.commands) > 1:
        raise UserError("msrun must be started on each machine", "`--print` shows the command of each")
    if shutil.which("msrun") is None:
        raise UserError("`msrun` is not installed here", "pip install mindspore; `--print` shows what would be started")
    if not wanted.nodes:
        ports.check(wanted.port)
        plan = job.engine.build(replace(wanted, port=wanted.port or ports.free()))
    return commands.execute(commands.Command(plan.commands[0], {}, ""))
