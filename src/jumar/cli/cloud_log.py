"""Prints a job's log: only what is new, without the platform's own lines, until the job ends."""

from __future__ import annotations

import time

import click

from jumar.cli.cloud_place import Place
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK

POLL = 1.0


def follow_log(place: Place, id_: str, *, everything: bool) -> int:
    """Print what is new until the job has ended; its exit code is ours."""
    from jumar.cloud.jobs import ENDED, new_text

    seen, rest = 0, ""
    while True:
        found = place.platform().get(id_)
        text, seen = new_text(place.platform().preview(id_), seen)
        whole, newline, rest = (rest + text).rpartition("\n")
        echo_log(whole + newline, everything)
        status = found["status"]
        if status["phase"] in ENDED:
            echo_log(rest, everything)
            click.echo(f"job {id_}: {status['phase']}", err=True)
            return EXIT_OK if status["phase"] == "Completed" else int(status.get("exit_code") or EXIT_FINDINGS)
        time.sleep(POLL if not place.target.is_local else POLL / 4)


def echo_log(text: str, everything: bool) -> None:
    from jumar.cloud.contract import SERVICE_LINE

    for line in text.splitlines():
        if everything or not line.startswith(SERVICE_LINE):
            click.echo(line)
