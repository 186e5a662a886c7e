"""`jumar launch --on modelarts`: the same path as `jumar cloud submit`, with the options of `jumar launch`."""

from __future__ import annotations

from collections.abc import Mapping

from jumar.app import cloud_jobs, launch_modelarts
from jumar.app.cloud_place import opened_place
from jumar.app.launch import LaunchRequest
from jumar.cli import show
from jumar.cli.cloud_jobs import talk
from jumar.cli.progress import Transfer
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK
from jumar.report import cloud as report


def start(request: LaunchRequest) -> int:
    """Send the job, or with `--print` show all of it."""
    told = launch_modelarts.told(request)
    said = launch_modelarts.said(request, told)
    with opened_place(told.get("target")) as place:
        plan = cloud_jobs.build(place, said)
        if request.dry:
            show.told(report.plan(plan))
            return EXIT_FINDINGS if plan.leaks else EXIT_OK
        with Transfer() as bar:
            made = cloud_jobs.send(place, plan, bar, talk)
        show.echo(made.id)
        show.say(f"jumar: job {made.id} ({made.spec.name}) is on {place.target.name};"
                   f" `jumar cloud logs -f` follows it, and `jumar cloud pull -o FOLDER` fetches its results",
                   err=True)  # fmt: skip
    return EXIT_OK


def ask(asked: Mapping[str, str | None], request: LaunchRequest) -> int:
    """State or log of a job, or the end of it."""
    with opened_place(launch_modelarts.told(request).get("target")) as place:
        for word, which in asked.items():
            if not which:
                continue
            id_ = place.find(which)
            if word == "status":
                show.echo(place.platform().get(id_).state)
            elif word == "log":
                show.lines(cloud_jobs.last_log(place, id_))
            else:
                place.platform().stop(id_)
                show.say(f"stopping job {id_}")
    return EXIT_OK
