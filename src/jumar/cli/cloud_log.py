"""Prints a job's log: only what is new, without the platform's own lines, until the job ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from jumar.app.cloud_place import Place
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK

if TYPE_CHECKING:
    from jumar.cloud.job import Job

POLL = 1.0


def follow_log(place: Place, id_: str, *, everything: bool) -> int:
    """Print what is new until the job has ended; its exit code is ours."""
    seen: dict[str, int] = {}
    rest: dict[str, str] = {}
    while True:
        job = place.platform().get(id_)
        for task, text in news(place, job, seen):
            whole, newline, rest[task] = (rest.get(task, "") + text).rpartition("\n")
            echo_log(whole + newline, everything)
        if job.state.ended:
            for text in rest.values():
                echo_log(text, everything)
            return _result(place, job)
        time.sleep(POLL if not place.target.is_local else POLL / 4)


def _result(place: Place, job: Job) -> int:
    from jumar.cloud.job import State

    click.echo(f"job {job.id}: {job.state}", err=True)
    if place.target.is_local and job.lost:
        click.echo("hint: the process that ran the job no longer exists: it was killed, or the disk is full", err=True)
    if job.warning:
        click.echo(f"warning: {job.warning}", err=True)
        click.echo("hint: write results below `--train_url`; `jumar cloud adapt` makes a script do so", err=True)
    return EXIT_OK if job.state is State.COMPLETED else job.exit_code or EXIT_FINDINGS


def news(place: Place, job: Job, seen: dict[str, int]) -> Iterator[tuple[str, str]]:
    """What each node's log has more than before; `seen` is how far that was."""
    for task in job.tasks:
        end = place.platform().logs(job.id, task)
        text, seen[task] = end.after(seen.get(task, 0)), max(end.size, seen.get(task, 0))
        if text:
            yield task, text


def echo_log(text: str, everything: bool) -> None:
    from jumar.cloud.contract import SERVICE_LINE

    for line in text.splitlines():
        if everything or not line.startswith(SERVICE_LINE):
            click.echo(line)
