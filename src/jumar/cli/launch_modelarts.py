"""`jumar launch --on modelarts`: the same path as `jumar cloud submit`, with the options of `jumar launch`."""

from __future__ import annotations

from collections.abc import Mapping

import click

from jumar.app import launch_modelarts
from jumar.app.cloud_place import opened_place
from jumar.app.launch import LaunchRequest
from jumar.cli.cloud_log import echo_log
from jumar.cli.cloud_submit import build, send, show_plan
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK


def start(request: LaunchRequest) -> int:
    """Send the job, or with `--print` show all of it."""
    told = launch_modelarts.told(request)
    said = launch_modelarts.said(request, told)
    with opened_place(told.get("target")) as place:
        plan = build(place, said)
        if request.dry:
            show_plan(plan, False)
            return EXIT_FINDINGS if plan.leaks else EXIT_OK
        made = send(place, plan, allow_secrets=False, quiet=False)
        click.echo(made.id)
        click.echo(f"jumar: job {made.id} ({made.spec.name}) is on {place.target.name};"
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
                click.echo(place.platform().get(id_).state)
            elif word == "log":
                echo_log(place.platform().logs(id_).text, False)
            else:
                place.platform().stop(id_)
                click.echo(f"stopping job {id_}")
    return EXIT_OK
