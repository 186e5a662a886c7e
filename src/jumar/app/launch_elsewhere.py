"""`jumar launch` on an engine of its own: ssh, Slurm, Volcano, msrun."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.cli.launching import settings
from jumar.core.errors import EXIT_OK, UserError

if TYPE_CHECKING:
    from jumar.launch.job import Job
    from jumar.launch.submission import Submission


def ask(asked: Mapping[str, str | None], options: Mapping[str, Any]) -> int:
    """State or log of a job on a cluster, or the end of it."""
    from jumar.launch import backends

    engine = backends.engine(options["engine"] or "slurm")
    if not hasattr(engine, "ask"):
        raise UserError(f"`--on {options['engine']}` keeps no jobs", "`slurm` and `volcano` do")
    told = settings(options["settings"])
    for word, which in asked.items():
        if which:
            click.echo(engine.ask(word, which, told))
    return EXIT_OK


def elsewhere(wanted: Job, options: Mapping[str, Any]) -> int:
    """Start it on an engine of its own, or show what that engine would get."""
    from jumar.launch import backends, program, submission

    name = options["engine"] or "ssh"
    engine = backends.engine(name)
    if not wanted.cards:
        raise UserError("`--cards N` must say how many cards each machine has", "`--cards 8`")
    if not wanted.words:
        raise UserError("nothing to run", f"`jumar launch --on {name} --cards 8 train.py ARGS`")
    if name in ("ssh", "msrun") and not wanted.nodes and wanted.count > 1:
        raise UserError(f"`--nodes {wanted.count}`: which machines", "write it as `--nodes host1,host2`")
    if wanted.nodes and name not in ("ssh", "msrun"):
        raise UserError(f"`--nodes` with `--on {name}` is how many machines", "write it as `--nodes 2`")
    if not options["no_check"] and name != "msrun":
        program.check(wanted.words, Path(), wanted.cards * wanted.count)
    plan = engine.build(wanted, os.environ) if name == "ssh" else engine.build(wanted)
    if options["only_print"]:
        click.echo("\n".join(submission.shown(plan)))
        return EXIT_OK
    if name in ("slurm", "msrun") and not Path(wanted.words[0]).exists():
        raise UserError(f"no such script: `{wanted.words[0]}`", "check the path; `--print` shows what would be started")
    return _START[name](engine, plan, wanted)


def _submit(engine: Any, plan: Submission, wanted: Job) -> int:
    number = engine.submit(plan, wanted)
    click.echo(number)
    click.echo(f"jumar: job {number} is on {plan.engine}, logs in `{wanted.logs}`; "
               f"--status {number}, --log {number} and --cancel {number} tell more", err=True)  # fmt: skip
    return EXIT_OK


def _over_ssh(engine: Any, plan: Submission, wanted: Job) -> int:
    from jumar.launch import submission

    click.echo("\n".join(submission.shown(plan)), err=True)
    engine.check(plan, wanted)
    code: int = engine.run(plan, wanted, _machine_line)
    return code


def _machine_line(node: str, text: str, talk: bool) -> None:
    click.echo(f"[{node}] {text}" if talk else text, err=talk)


def _become(engine: Any, plan: Submission, wanted: Job) -> int:
    import shutil

    from jumar.emulate import command as commands
    from jumar.launch import ports

    if len(plan.commands) > 1:
        raise UserError("msrun is started on each machine by itself", "`--print` shows the command of each")
    if shutil.which("msrun") is None:
        raise UserError("`msrun` is not installed here", "pip install mindspore; `--print` shows what would be started")
    if not wanted.nodes:
        ports.check(wanted.port)
        plan = engine.build(replace(wanted, port=wanted.port or ports.free()))
    return commands.execute(commands.Command(plan.commands[0], {}, ""))


_START = {"slurm": _submit, "volcano": _submit, "ssh": _over_ssh, "msrun": _become}
