"""`jumar launch`: a program on many cards, of this machine or of others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.cli import show
from jumar.cli.cmd_run import LikePython
from jumar.cli.options import chip
from jumar.core.errors import EXIT_OK

if TYPE_CHECKING:
    from jumar.app.launch_elsewhere import Elsewhere
    from jumar.launch.job import Local


@click.command("launch", cls=LikePython, short_help="Start a program on many cards, here or on other machines",
               options_metavar="[OPTIONS] SCRIPT|-m MODULE|PROGRAM ARGS...")  # fmt: skip
@click.option("--cards", metavar="N|LIST", help="Cards on each machine, or their numbers (0,1,4-5); default all.")
@click.option("--bind", metavar="auto|none|LIST", default="auto", show_default=True,
              help="Cores of each card: by NUMA node, none, or 0-23:24-47.")  # fmt: skip
@click.option("--port", type=int, metavar="N", default=0, help="Port where the ranks meet; default: a free one.")
@click.option("--logs", metavar="DIR", help="Folder for the ranks' logs; default: a new one under `logs`.")
@click.option("--restarts", type=int, metavar="N", default=0, help="Restart all ranks after a failure, up to N times.")
@click.option("--until", metavar="HH:MM", default="", help="Stop everything at this time of day.")
@click.option("--grace", type=int, metavar="SECONDS", default=30, show_default=True,
              help="Time to save between the signal to stop and SIGKILL.")  # fmt: skip
@click.option("--signal", "signal_", metavar="NAME", default="TERM", show_default=True,
              help="Signal that `--until` sends.")  # fmt: skip
@click.option("--rank-table", metavar="FILE|auto", default="", help="Sets RANK_TABLE_FILE; auto makes one.")
@chip("soc", "Emulated chip, such as 910B3 (the default).")
@click.option("--memory", metavar="SIZE", help="Memory of each emulated card, such as 32G.")
@click.option("--cuda", is_flag=True, help="Apply torch_npu's own run-time migration to every rank.")
@click.option("--no-check", is_flag=True, help="Start a script without a process group anyway.")
@click.option(
    "--nodes", metavar="HOSTS|N", default="", help="Machines, as host1,host2; for Slurm and Volcano how many."
)
@click.option(
    "--on", "engine", metavar="ENGINE", default="", help="slurm, volcano, msrun, modelarts; torch elastic if none."
)
@click.option(
    "--set", "settings", metavar="NAME=VALUE", multiple=True, help="Extra setting for the engine; repeatable."
)
@click.option("--name", metavar="NAME", default="train", show_default=True, help="Name of the job on a cluster.")
@click.option("--status", metavar="JOB", help="State of a job on a cluster.")
@click.option("--log", metavar="JOB", help="Output of a job on a cluster.")
@click.option("--cancel", metavar="JOB", help="End a job on a cluster.")
@click.option("--print", "only_print", is_flag=True, help="Print everything that would be started.")
@click.option("--of", "count", type=int, default=1, metavar="N", help="This machine is one of N, each started by hand.")
@click.option("--node-rank", type=int, default=0, metavar="N", help="Which of them, from 0.")
@click.option("--master", default="", metavar="HOST", help="The first machine, where they meet at `--port`.")
@click.option("--id", "run_id", default="train", metavar="NAME", help="A name that all of them share.")
@click.option("--with-parent", is_flag=True, help="Stop the ranks when standard input ends.")
@click.pass_context
def command(ctx: click.Context, /, only_print: bool, with_parent: bool, **options: Any) -> int:
    """Start a Python script, module or program once per card; the arguments after Jumar's options are its own.

    Every rank finds RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and RANK_ID, RANK_SIZE and
    DEVICE_ID for MindSpore. The first rank that fails ends the others; its exit code and last lines are shown.
    """
    from jumar.app import launch, launch_elsewhere
    from jumar.runtime import variables

    asked = {word: options.pop(word) for word in ("status", "log", "cancel")}
    options |= {"signal": options.pop("signal_"), "check": not options.pop("no_check"), "dry": only_print}
    request = launch.LaunchRequest(words=tuple(ctx.meta["words"]), **options)
    if request.engine == "modelarts":
        from jumar.cli import launch_modelarts

        return launch_modelarts.ask(asked, request) if any(asked.values()) else launch_modelarts.start(request)
    if any(asked.values()):
        show.lines(launch_elsewhere.ask(asked, request.engine, request.settings))
        return EXIT_OK
    wanted = launch.job(request)
    if wanted.nodes or request.engine:
        return _elsewhere(launch_elsewhere.build(wanted, request), only_print)
    ranks, where = launch.here(wanted, request)
    if only_print:
        show.lines(launch.shown(ranks))
        return EXIT_OK
    if not variables.QUIET.read():
        show.say(where, err=True)
    return _run(ranks, with_parent)


def _run(ranks: Local, with_parent: bool) -> int:
    """Run the ranks, show them, and say how it ended."""
    from jumar.app import launch
    from jumar.cli.ranks_view import RanksView
    from jumar.report import launch as report

    outcome = launch.run(ranks, RanksView(len(ranks.device_ids) * ranks.nodes), with_parent)
    why = launch.why(Path(ranks.logs)) if outcome.state == "failed" else None
    show.lines(report.ended(outcome, ranks, why), err=True)
    return outcome.code


def _elsewhere(job: Elsewhere, only_print: bool) -> int:
    """Start it on an engine of its own, or show what that engine would get."""
    from jumar.app import launch_elsewhere

    if only_print or job.name == "ssh":
        show.lines(job.shown(), err=not only_print)
    if only_print:
        return EXIT_OK
    if job.name == "ssh":
        return launch_elsewhere.over_ssh(job, _machine_line)
    if job.name == "msrun":
        return launch_elsewhere.become_msrun(job)
    number = launch_elsewhere.submit(job)
    show.echo(str(number))
    show.say(f"jumar: job {number} is on {job.plan.engine}, logs in `{job.wanted.logs}`; "
               f"--status {number}, --log {number} and --cancel {number} manage it", err=True)  # fmt: skip
    return EXIT_OK


def _machine_line(node: str, text: str, talk: bool) -> None:
    show.passed(f"[{node}] {text}" if talk else text, err=talk)
