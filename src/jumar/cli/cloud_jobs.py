"""The job half of `jumar cloud`: plan, submit, logs, stop, pull, ls-jobs, rm-job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from jumar.app import cloud_jobs as app
from jumar.app.cloud_place import Place, opened_place
from jumar.cli import show as printing
from jumar.cli import values
from jumar.cli.cloud_common import options, show
from jumar.cli.options import Number
from jumar.cli.progress import Transfer
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK
from jumar.report import cloud as report

_PLACE = (
    click.option("--target", metavar="NAME", help="`local` (the default), `huaweicloud`, or one of `jumar.toml`."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
)
_JOB = (
    click.option("--code", metavar="FOLDER", help="Code folder."),
    click.option("--boot", metavar="FILE", help="Script to start, relative to the code folder."),
    click.option("--data", multiple=True, metavar="[NAME=]PLACE", help="Folder or obs:// address; repeatable."),
    click.option("--devices", type=click.IntRange(1, 8), metavar="N", help="1 (the default), 2, 4 or 8."),
    click.option(
        "--nodes",
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of machines with that many devices each; default 1.",
    ),
    click.option("--param", multiple=True, metavar="NAME=VALUE", help="Argument of the script; repeatable."),
    click.option("--env", multiple=True, metavar="NAME=VALUE", help="Environment variable; repeatable."),
    click.option("--bucket", metavar="NAME", help="Bucket for code, data and results."),
    click.option("--name", metavar="NAME", help="Name of the job."),
    click.option("--engine", metavar="VERSION", help="Engine; by default chosen from the script's imports."),
    click.option("--flavor", metavar="ID", help="Flavour; by default chosen by the number of devices."),
    click.option("--auto-stop", type=Number(1), metavar="HOURS", help="Default 4."),
    click.option("--python", metavar="PATH", help="Interpreter for jobs on this machine; by default Jumar's own."),
    click.option(
        "--on", type=click.Choice(["cpu"]), help="MindSpore on this machine: its CPU target, not emulated NPUs."
    ),
    click.option("--contract", type=click.Choice(["v1", "v2"]), help="v2 (the default): the platform copies the data."),
    click.option("--price", type=Number(), metavar="SUM", help="Price of an hour, for the cost bound."),
    click.option("--allow-secrets", is_flag=True, help="Upload the code even if it seems to contain keys."),
)
_WHICH = (
    click.argument("job", required=False, metavar="[JOB]", shell_complete=values.jobs),
    click.option("--last", is_flag=True, help="The last submitted job (the default)."),
)


@click.command("plan")
@options(_JOB, _PLACE)
def plan(target: str | None, as_json: bool, allow_secrets: bool, **said: Any) -> int:
    """Show what `submit` would do: uploads, request, cost bound, keys found in the code."""
    with opened_place(target) as place:
        found = app.build(place, app.SubmitRequest(**said))
    show([report.plan_row(found)], report.plan(found), as_json)
    return EXIT_FINDINGS if found.leaks else EXIT_OK


@click.command("submit")
@options(_JOB)
@click.option("--follow", is_flag=True, help="Print the log and exit with the job's result.")
@options(_PLACE)
def submit(target: str | None, as_json: bool, allow_secrets: bool, follow: bool, **said: Any) -> int:
    """Upload what changed and start the job."""
    with opened_place(target) as place:
        found = app.build(place, app.SubmitRequest(**said))
        with Transfer(quiet=as_json) as bar:
            made = app.send(place, found, bar, talk, allow_secrets=allow_secrets)
        printing.told(report.left_out([name for one in found.uploads for name in one.left_out]), err=True)
        if as_json:
            show([report.job_row(made)], [], True)
        else:
            printing.say(f"job {made.id} ({made.spec.name})", err=follow)
        return _follow(place, made.id, everything=False) if follow else EXIT_OK


@click.command("logs")
@options(_WHICH)
@click.option("-f", "--follow", is_flag=True, help="Follow until the job ends and exit with its result.")
@click.option("--all", "everything", is_flag=True, help="Also print the platform's lines.")
@click.option("--target", metavar="NAME", help="`local` (the default), `huaweicloud`, or one of `jumar.toml`.")
def logs(job: str | None, last: bool, follow: bool, everything: bool, target: str | None) -> int:
    """Print a job's log: all processes, without the platform's own lines."""
    with opened_place(target) as place:
        id_ = place.find(job)
        if follow:
            return _follow(place, id_, everything=everything)
        printing.lines(app.log(place, id_, everything=everything))
    return EXIT_OK


@click.command("stop")
@options(_WHICH, _PLACE)
def stop(job: str | None, last: bool, target: str | None, as_json: bool) -> int:
    """End a job."""
    with opened_place(target) as place:
        id_ = app.stop(place, job)
    show([{"id": id_}], [f"stopping job {id_}"], as_json)
    return EXIT_OK


@click.command("rm-job")
@options(_WHICH, _PLACE)
def rm_job(job: str | None, last: bool, target: str | None, as_json: bool) -> int:
    """Remove a job that has ended, with its logs; results stay in the bucket."""
    with opened_place(target) as place:
        id_ = app.delete(place, job)
    show([{"id": id_}], [f"job {id_} is removed; its results stay in the bucket"], as_json)
    return EXIT_OK


@click.command("pull")
@options(_WHICH)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FOLDER", help="Where to.")
@options(_PLACE)
def pull(job: str | None, last: bool, output: Path, target: str | None, as_json: bool) -> int:
    """Fetch a job's results, also while it runs; only what is new."""
    with opened_place(target) as place, Transfer(quiet=as_json) as bar:
        found = app.pull(place, job, output, bar)
    show([report.pulled_row(one) for one in found], [report.pulled(one) for one in found], as_json)
    return EXIT_OK


@click.command("ls-jobs")
@options(_PLACE)
def ls_jobs(target: str | None, as_json: bool) -> int:
    """List the jobs, the newest first."""
    with opened_place(target) as place:
        found = list(place.platform().list())
    show([report.job_row(one) for one in found], report.jobs(found), as_json)
    return EXIT_OK


def talk(text: str, /) -> None:
    printing.say(text, err=True)


def _follow(place: Place, id_: str, *, everything: bool) -> int:
    """Print what is new until the job has ended; its exit code is ours."""
    job = app.follow(place, id_, printing.passed, everything=everything)
    printing.told(report.ended(job, is_local=place.target.is_local), err=True)
    return app.exit_code(job)
