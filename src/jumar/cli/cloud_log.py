"""Prints a job's log: only what is new, without the platform's own lines, until the job ends."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import click

from jumar.app.cloud_place import Place
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK

POLL = 1.0


def follow_log(place: Place, id_: str, *, everything: bool) -> int:
    """Print what is new until the job has ended; its exit code is ours."""
    from jumar.cloud.jobs import ENDED

    seen: dict[str, int] = {}
    rest: dict[str, str] = {}
    while True:
        status = place.platform().get(id_)["status"]
        for task, text in news(place, id_, status, seen):
            whole, newline, rest[task] = (rest.get(task, "") + text).rpartition("\n")
            echo_log(whole + newline, everything)
        if status["phase"] in ENDED:
            for text in rest.values():
                echo_log(text, everything)
            click.echo(f"job {id_}: {status['phase']}", err=True)
            if place.target.is_local and status.get("secondary_phase") == "Lost":
                click.echo("hint: what ran the job is gone: it was killed, or the disk is full", err=True)
            return EXIT_OK if status["phase"] == "Completed" else int(status.get("exit_code") or EXIT_FINDINGS)
        time.sleep(POLL if not place.target.is_local else POLL / 4)


def news(place: Place, id_: str, status: Mapping[str, Any], seen: dict[str, int]) -> Iterator[tuple[str, str]]:
    """What each node's log has more than before; `seen` is how far that was."""
    from jumar.cloud.jobs import new_text

    for task in status.get("tasks") or ["worker-0"]:
        text, seen[task] = new_text(place.platform().preview(id_, task), seen.get(task, 0))
        if text:
            yield task, text


def echo_log(text: str, everything: bool) -> None:
    from jumar.cloud.contract import SERVICE_LINE

    for line in text.splitlines():
        if everything or not line.startswith(SERVICE_LINE):
            click.echo(line)
